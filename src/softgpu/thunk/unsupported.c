/* SPDX-License-Identifier: MIT */
/* The calls of the interface that softgpu does not have. Each says so and returns NOT_SUPPORTED. */
#include "device.h"

#include "../message.h"

static HSAKMT_STATUS not_supported(const char *call)
{
	SOFTGPU_REQUIRE_OPEN();
	softgpu_message("%s is not supported", call);
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

/* Parameters are listed with their types only: none is looked at. */
#define NOT_SUPPORTED(call, ...)                                                                   \
	HSAKMT_STATUS call(__VA_ARGS__)                                                            \
	{                                                                                          \
		return not_supported(#call);                                                       \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Global wave synchronisation */
NOT_SUPPORTED(hsaKmtAllocQueueGWS, HSA_QUEUEID queue, HSAuint32 count, HSAuint32 *first)

/* Graphics */
NOT_SUPPORTED(hsaKmtRegisterGraphicsHandleToNodes, HSAuint64 handle,
	      HsaGraphicsResourceInfo *information, HSAuint64 count, HSAuint32 *nodes)
NOT_SUPPORTED(hsaKmtMapGraphicHandle, HSAuint32 node, HSAuint64 device, HSAuint64 resource,
	      HSAuint64 offset, HSAuint64 size, HSAuint64 *address)
NOT_SUPPORTED(hsaKmtUnmapGraphicHandle, HSAuint32 node, HSAuint64 address, HSAuint64 size)
NOT_SUPPORTED(hsaKmtReportQueue, HSA_QUEUEID queue, HsaQueueReport *report)

/* Other processes' memory */
NOT_SUPPORTED(hsaKmtProcessVMRead, HSAuint32 process, HsaMemoryRange *local, HSAuint64 local_count,
	      HsaMemoryRange *remote, HSAuint64 remote_count, HSAuint64 *copied)
NOT_SUPPORTED(hsaKmtProcessVMWrite, HSAuint32 process, HsaMemoryRange *local, HSAuint64 local_count,
	      HsaMemoryRange *remote, HSAuint64 remote_count, HSAuint64 *copied)

/* Shared virtual memory */
NOT_SUPPORTED(hsaKmtSVMSetAttr, void *start, HSAuint64 size, unsigned int count,
	      HSA_SVM_ATTRIBUTE *attributes)
NOT_SUPPORTED(hsaKmtSVMGetAttr, void *start, HSAuint64 size, unsigned int count,
	      HSA_SVM_ATTRIBUTE *attributes)

/* Debugging */
NOT_SUPPORTED(hsaKmtDbgRegister, HSAuint32 node)
NOT_SUPPORTED(hsaKmtDbgUnregister, HSAuint32 node)
NOT_SUPPORTED(hsaKmtDbgWavefrontControl, HSAuint32 node, HSA_DBG_WAVEOP operation,
	      HSA_DBG_WAVEMODE mode, HSAuint32 trap, HsaDbgWaveMessage *message)
NOT_SUPPORTED(hsaKmtDbgAddressWatch, HSAuint32 node, HSAuint32 count, HSA_DBG_WATCH_MODE modes[],
	      void *addresses[], HSAuint64 masks[], HsaEvent *events[])
NOT_SUPPORTED(hsaKmtGetKernelDebugTrapVersionInfo, HSAuint32 *major, HSAuint32 *minor)

/* Performance counters */
NOT_SUPPORTED(hsaKmtPmcGetCounterProperties, HSAuint32 node, HsaCounterProperties **properties)
NOT_SUPPORTED(hsaKmtPmcRegisterTrace, HSAuint32 node, HSAuint32 count, HsaCounter *counters,
	      HsaPmcTraceRoot *root)
NOT_SUPPORTED(hsaKmtPmcUnregisterTrace, HSAuint32 node, HSATraceId trace)
NOT_SUPPORTED(hsaKmtPmcAcquireTraceAccess, HSAuint32 node, HSATraceId trace)
NOT_SUPPORTED(hsaKmtPmcReleaseTraceAccess, HSAuint32 node, HSATraceId trace)
NOT_SUPPORTED(hsaKmtPmcStartTrace, HSATraceId trace, void *buffer, HSAuint64 size)
NOT_SUPPORTED(hsaKmtPmcQueryTrace, HSATraceId trace)
NOT_SUPPORTED(hsaKmtPmcStopTrace, HSATraceId trace)
NOT_SUPPORTED(hsaKmtSPMAcquire, HSAuint32 node)
NOT_SUPPORTED(hsaKmtSPMRelease, HSAuint32 node)
NOT_SUPPORTED(hsaKmtSPMSetDestBuffer, HSAuint32 node, HSAuint32 size, HSAuint32 *timeout,
	      HSAuint32 *copied, void *buffer, bool *loss)

/* Retry of page faults can only be off: that is what the target's code objects are built for. */
HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable)
{
	return enable == 0 ? HSAKMT_STATUS_SUCCESS : not_supported("hsaKmtSetXNACKMode(1)");
}

HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
	SOFTGPU_REQUIRE_OPEN();
	if (!enable)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*enable = 0;
	return HSAKMT_STATUS_SUCCESS;
}
