/* SPDX-License-Identifier: MIT */
/* Calls that newer runtimes import and the installed hsakmt.h may not declare yet. */
#ifndef SOFTGPU_THUNK_NEWER_H
#define SOFTGPU_THUNK_NEWER_H

#include <hsakmt.h>

HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes);

#endif
