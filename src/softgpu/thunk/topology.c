/* SPDX-License-Identifier: MIT */
/* Nodes and their properties: one host node, and GPU nodes that are all alike. */
#include "topology.h"

#include "device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GPU_MEMORY_BANKS 3
#define GPU_CACHES	 2

static uint32_t node_count(void)
{
	return softgpu_device()->options.gpus + 1;
}

HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *SystemProperties)
{
	SOFTGPU_REQUIRE_OPEN();
	if (!SystemProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*SystemProperties = (HsaSystemProperties){.NumNodes = node_count()};
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
	return HSAKMT_STATUS_SUCCESS;
}

static uint64_t host_memory_size(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint32_t host_cores(void)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 1 ? 1 : (uint32_t)cores;
}

/* The model name that the kernel reports, as the runtime shows it for the host agent. */
static void read_host_name(uint16_t *name, size_t size)
{
	char line[256], *text = NULL;
	FILE *file = fopen("/proc/cpuinfo", "re");

	while (file && !text && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "model name", 10) == 0 && (text = strchr(line, ':')) != NULL)
			text++;
	}
	if (file)
		fclose(file);
	if (!text)
		text = "host";
	while (*text == ' ')
		text++;
	for (size_t i = 0; i + 1 < size && text[i] != '\0' && text[i] != '\n'; i++)
		name[i] = (uint8_t)text[i];
}

/* A link from the host says that its CPU can access video memory. */
static uint32_t host_link_count(void)
{
	const struct softgpu_options *options = &softgpu_device()->options;

	return options->large_bar ? options->gpus : 0;
}

static void fill_host(HsaNodeProperties *properties)
{
	properties->NumCPUCores = host_cores();
	properties->NumMemoryBanks = 1;
	properties->NumCaches = 1;
	properties->NumIOLinks = host_link_count();
	properties->MaxEngineClockMhzCCompute = 2000;
	properties->DrmRenderMinor = -1;
	read_host_name(properties->MarketingName, HSA_PUBLIC_NAME_SIZE);
}

static void fill_gpu(uint32_t node_id, HsaNodeProperties *properties)
{
	static const char product[] = SOFTGPU_PRODUCT_NAME;
	const struct softgpu_device *device = softgpu_device();
	const struct softgpu_target *target = device->options.target;

	properties->NumFComputeCores = SOFTGPU_COMPUTE_UNITS * SOFTGPU_SIMDS_PER_UNIT;
	properties->NumMemoryBanks = GPU_MEMORY_BANKS;
	properties->NumCaches = GPU_CACHES;
	properties->NumIOLinks = node_count() - 1;
	properties->FComputeIdLo = 0x80000000U + node_id * 0x1000;
	properties->Capability.ui32.DoorbellType = 2;
	properties->Capability.ui32.QueueSizePowerOfTwo = 1;
	properties->Capability.ui32.SRAM_EDCSupport = 1;
	properties->MaxWavesPerSIMD = SOFTGPU_WAVES_PER_SIMD;
	properties->LDSSizeInKB = target->group_memory_size / 1024;
	properties->WaveFrontSize = target->wave_size;
	properties->NumShaderBanks = SOFTGPU_SHADER_ENGINES;
	properties->NumArrays = 1;
	properties->NumCUPerArray = SOFTGPU_UNITS_PER_ENGINE;
	properties->NumSIMDPerCU = SOFTGPU_SIMDS_PER_UNIT;
	properties->MaxSlotsScratchCU = SOFTGPU_SIMDS_PER_UNIT * SOFTGPU_WAVES_PER_SIMD;
	properties->EngineId.ui32.uCode = 60;
	properties->EngineId.ui32.Major = target->major;
	properties->EngineId.ui32.Minor = target->minor;
	properties->EngineId.ui32.Stepping = target->stepping;
	properties->VendorId = 0x1002;
	properties->DeviceId = 0x740f;
	properties->LocationId = node_id << 8;
	properties->LocalMemSize = device->options.vram_size;
	properties->MaxEngineClockMhzFCompute = 1700;
	properties->MaxEngineClockMhzCCompute = 2000;
	properties->DrmRenderMinor = (int32_t)(127 + node_id);
	for (size_t i = 0; i < sizeof(product); i++)
		properties->MarketingName[i] = (uint8_t)product[i];
	memcpy(properties->AMDName, product, sizeof(product));
	properties->uCodeEngineVersions.uCodeSDMA = 8;
	properties->NumSdmaEngines = 2;
	properties->NumSdmaXgmiEngines = 0;
	properties->NumSdmaQueuesPerEngine = 8;
	properties->NumCpQueues = 24;
	properties->UniqueID = UINT64_C(0x736f667467707500) + node_id;
	properties->VGPRSizePerCU = 4 * 512 * 64 * 4;
	properties->SGPRSizePerCU = 4 * 800 * 4 * SOFTGPU_WAVES_PER_SIMD / 8;
}

HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 NodeId, HsaNodeProperties *NodeProperties)
{
	SOFTGPU_REQUIRE_OPEN();
	if (!NodeProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeId >= node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	memset(NodeProperties, 0, sizeof(*NodeProperties));
	if (NodeId == SOFTGPU_HOST_NODE)
		fill_host(NodeProperties);
	else
		fill_gpu(NodeId, NodeProperties);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 NodeId, HSAuint32 NumBanks,
					    HsaMemoryProperties *MemoryProperties)
{
	const HsaMemoryProperties host = {
		.HeapType = HSA_HEAPTYPE_SYSTEM,
		.SizeInBytes = host_memory_size(),
		.Width = 64,
		.MemoryClockMax = 1600,
	};
	HsaMemoryProperties gpu[GPU_MEMORY_BANKS] = {
		/* Private: the host has no access to video memory. */
		{.HeapType = softgpu_device()->options.large_bar
				     ? HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC
				     : HSA_HEAPTYPE_FRAME_BUFFER_PRIVATE,
		 .Width = 4096,
		 .MemoryClockMax = 1600},
		{.HeapType = HSA_HEAPTYPE_GPU_LDS,
		 .SizeInBytes = 0x10000,
		 .VirtualBaseAddress = SOFTGPU_SHARED_APERTURE},
		{.HeapType = HSA_HEAPTYPE_GPU_SCRATCH,
		 .SizeInBytes = SOFTGPU_APERTURE_SIZE,
		 .VirtualBaseAddress = SOFTGPU_PRIVATE_APERTURE},
	};
	const HsaMemoryProperties *banks = gpu;
	uint32_t count = GPU_MEMORY_BANKS;

	SOFTGPU_REQUIRE_OPEN();
	if (!MemoryProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeId >= node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	gpu[0].SizeInBytes = softgpu_device()->options.vram_size;
	gpu[1].SizeInBytes = softgpu_device()->options.target->group_memory_size;
	if (NodeId == SOFTGPU_HOST_NODE) {
		banks = &host;
		count = 1;
	}
	for (uint32_t i = 0; i < NumBanks && i < count; i++)
		MemoryProperties[i] = banks[i];
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 NodeId, HSAuint32 ProcessorId,
					   HSAuint32 NumCaches, HsaCacheProperties *CacheProperties)
{
	static const HsaCacheProperties host[] = {
		{.CacheLevel = 1,
		 .CacheSize = 32,
		 .CacheLineSize = 64,
		 .CacheType = {.ui32 = {.Data = 1, .CPU = 1}}},
	};
	static const HsaCacheProperties gpu[GPU_CACHES] = {
		{.CacheLevel = 1,
		 .CacheSize = 16,
		 .CacheLineSize = 64,
		 .CacheType = {.ui32 = {.Data = 1, .HSACU = 1}}},
		{.CacheLevel = 2,
		 .CacheSize = 8192,
		 .CacheLineSize = 128,
		 .CacheType = {.ui32 = {.Data = 1, .HSACU = 1}}},
	};
	const HsaCacheProperties *caches = NodeId == SOFTGPU_HOST_NODE ? host : gpu;
	const uint32_t count = NodeId == SOFTGPU_HOST_NODE ? 1 : GPU_CACHES;

	SOFTGPU_REQUIRE_OPEN();
	if (!CacheProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeId >= node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	for (uint32_t i = 0; i < NumCaches && i < count; i++) {
		CacheProperties[i] = caches[i];
		CacheProperties[i].ProcessorIdLow = ProcessorId;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 NodeId, HSAuint32 NumIoLinks,
					    HsaIoLinkProperties *IoLinkProperties)
{
	uint32_t filled = 0;

	SOFTGPU_REQUIRE_OPEN();
	if (!IoLinkProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeId >= node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (NodeId == SOFTGPU_HOST_NODE && NumIoLinks > host_link_count())
		NumIoLinks = host_link_count();
	/* One link from each node to each other; without override all atomics are possible. */
	for (uint32_t to = 0; to < node_count() && filled < NumIoLinks; to++) {
		if (to == NodeId)
			continue;
		IoLinkProperties[filled++] = (HsaIoLinkProperties){
			.IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS,
			.NodeFrom = NodeId,
			.NodeTo = to,
			.Weight = 20,
			.MaximumBandwidth = 32000,
		};
	}
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * How images are laid out. Since gfx9 that follows from GB_ADDR_CONFIG alone, without tables: four
 * pipes, interleaved by 256 bytes. HIP asks although it uses no image.
 */
#define GB_ADDR_CONFIG 0x22014042

HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 NodeId, HsaGpuTileConfig *Config)
{
	SOFTGPU_REQUIRE_OPEN();
	if (!Config)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeId == SOFTGPU_HOST_NODE || NodeId >= node_count())
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	Config->NumTileConfigs = 0;
	Config->NumMacroTileConfigs = 0;
	Config->GbAddrConfig = GB_ADDR_CONFIG;
	Config->NumBanks = 0;
	Config->NumRanks = 0;
	return HSAKMT_STATUS_SUCCESS;
}
