/* SPDX-License-Identifier: MIT */
/*
 * One flat grid of 4096-byte chunks over the published bytes of many members: how a workgroup finds
 * its member and chunk, and how it copies the chunk.
 */
#ifndef H2DPUB_KERNELS_CHUNK_H
#define H2DPUB_KERNELS_CHUNK_H

/*
 * Few items copy many bytes each, so that a chunk is found by one or two waves: the descriptors may
 * lie in system memory, which each wave reads over the bus.
 */
#define CHUNK_BYTES      4096
#define WORKGROUP_SIZE   64
#define VECTORS_PER_ITEM (CHUNK_BYTES / 16 / WORKGROUP_SIZE)

/*
 * Lanes of a wave: 64 on gfx9; gfx11 and gfx12 have both sizes and clang compiles for 32, which is
 * also the size on NVIDIA GPUs (tests/cuda).
 * The first lane in which a > b, for unsigned values; 34 is LLVM's code of that comparison, and the
 * older clangs know no ballot.
 */
#if defined(__GFX11__) || defined(__GFX12__) || defined(__NVPTX__)
#define WAVE_SIZE                32
#define FIRST_LANE_GREATER(a, b) ((uint)__builtin_ctz(__builtin_amdgcn_ballot_w32((a) > (b))))
#else
#define WAVE_SIZE                64
#define FIRST_LANE_GREATER(a, b) ((uint)__builtin_ctzl(__builtin_amdgcn_uicmp(a, b, 34)))
#endif

static uint lane_in_wave(void)
{
	return (uint)__builtin_amdgcn_workitem_id_x() & (WAVE_SIZE - 1);
}

/* A value of another lane; lane is the same in all of them. */
static uint read_lane(uint value, uint lane)
{
	return (uint)__builtin_amdgcn_readlane((int)value, (int)lane);
}

static ulong read_lane_64(ulong value, uint lane)
{
	return (ulong)read_lane((uint)(value >> 32), lane) << 32 | read_lane((uint)value, lane);
}

/* value plus that of the lane n lower in the same row of 16; 0 where there is none. */
#define ADD_ROW_SHIFTED(value, n)                                                                  \
	((value) + (uint)__builtin_amdgcn_update_dpp(0, (int)(value), 0x110 + (n), 0xf, 0xf, false))

/* The sum over the lanes up to and including this one; all lanes are active. */
static uint inclusive_sum(uint value)
{
	uint row = lane_in_wave() / 16;

	value = ADD_ROW_SHIFTED(value, 1);
	value = ADD_ROW_SHIFTED(value, 2);
	value = ADD_ROW_SHIFTED(value, 4);
	value = ADD_ROW_SHIFTED(value, 8);
	/* A row ends with its sum. Every GPU reads any lane; not all of them shift over rows. */
	uint row_sum = read_lane(value, 15);
	uint sum = row > 0 ? row_sum : 0;
#if WAVE_SIZE == 64
	row_sum = read_lane(value, 31);
	sum += row > 1 ? row_sum : 0;
	row_sum = read_lane(value, 47);
	sum += row > 2 ? row_sum : 0;
#endif
	return value + sum;
}

static uint smaller(uint a, uint b)
{
	return a < b ? a : b;
}

static uint chunk_count(long bytes)
{
	return bytes > 0 ? (uint)((bytes + CHUNK_BYTES - 1) / CHUNK_BYTES) : 0;
}

/*
 * Each lane holds the chunks of one member. Finds the member of chunk number *chunk: true, with its
 * lane and *chunk counted from that member's start; false, with *chunk less the chunks of all.
 */
static bool find_chunk(uint chunks, uint *chunk, uint *member_lane)
{
	uint end = inclusive_sum(chunks);
	uint total = read_lane(end, WAVE_SIZE - 1);

	if (*chunk >= total) {
		*chunk -= total;
		return false;
	}
	*member_lane = FIRST_LANE_GREATER(end, *chunk);
	*chunk -= read_lane(end - chunks, *member_lane);
	return true;
}

/*
 * Loads this item's vectors of 16 bytes, every WORKGROUP_SIZE-th of them, from any address. AMD GPUs
 * need no alignment.
 */
#ifndef LOAD_VECTORS
typedef uint unaligned_uint4 __attribute__((ext_vector_type(4), aligned(1)));

static void load_vectors(uint4 vector[VECTORS_PER_ITEM], global const uchar *source, uint vectors)
{
	uint item = (uint)__builtin_amdgcn_workitem_id_x();

#pragma unroll
	for (uint i = 0; i < VECTORS_PER_ITEM; i++) {
		uint at = i * WORKGROUP_SIZE + item;
		if (at < vectors)
			vector[i] = *(global const unaligned_uint4 *)(source + at * 16);
	}
}
#define LOAD_VECTORS(vector, source, vectors) load_vectors(vector, source, vectors)
#endif

/*
 * Copies one chunk of a member of bytes bytes. Stores of 16 bytes are aligned; the bytes before the
 * first and behind the last of them go one by one. All loads are issued before the first store.
 */
static void copy_chunk(global uchar *destination, global const uchar *source, ulong bytes,
		       uint chunk)
{
	ulong start = (ulong)chunk * CHUNK_BYTES;
	uint size = bytes - start < CHUNK_BYTES ? (uint)(bytes - start) : CHUNK_BYTES;
	uint item = (uint)__builtin_amdgcn_workitem_id_x();
	uchar head_byte = 0;
	uchar tail_byte = 0;
	uint4 vector[VECTORS_PER_ITEM];

	destination += start;
	source += start;
	uint head = smaller(-(uint)(ulong)destination & 15, size);
	uint vectors = (size - head) / 16;
	uint tail_start = head + vectors * 16;
	uint tail = size - tail_start;

	LOAD_VECTORS(vector, source + head, vectors);
	if (item < head)
		head_byte = source[item];
	if (item < tail)
		tail_byte = source[tail_start + item];
#pragma unroll
	for (uint i = 0; i < VECTORS_PER_ITEM; i++) {
		uint at = i * WORKGROUP_SIZE + item;
		if (at < vectors)
			*(global uint4 *)(destination + head + at * 16) = vector[i];
	}
	if (item < head)
		destination[item] = head_byte;
	if (item < tail)
		destination[tail_start + item] = tail_byte;
}

#endif
