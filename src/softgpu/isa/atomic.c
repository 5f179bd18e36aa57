/* SPDX-License-Identifier: MIT */
/* What each atomic operation computes, for memory and LDS. */
#include "half.h"
#include "memory_access.h"

static float to_float(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static uint64_t from_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double to_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t from_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t add_float(unsigned int bytes, uint64_t a, uint64_t b)
{
	if (bytes == 4)
		return from_float(to_float(a) + to_float(b));
	return from_double(to_double(a) + to_double(b));
}

/* Less in the order of minimum and maximum: -0 < +0, a NaN loses against a number. */
static bool float_less(double a, double b)
{
	if (a == 0 && b == 0)
		return __builtin_signbit(a) && !__builtin_signbit(b);
	return a < b;
}

static uint64_t select_float(unsigned int bytes, uint64_t memory, uint64_t data, bool minimum)
{
	double a = bytes == 4 ? (double)to_float(memory) : to_double(memory);
	double b = bytes == 4 ? (double)to_float(data) : to_double(data);

	if (a != a)
		return data;
	if (b != b)
		return memory;
	return (minimum ? float_less(b, a) : float_less(a, b)) ? data : memory;
}

static uint64_t packed_add_half(uint64_t a, uint64_t b)
{
	uint64_t result = 0;

	for (int shift = 0; shift < 32; shift += 16) {
		float sum = softgpu_half_to_float((uint16_t)(a >> shift)) +
			    softgpu_half_to_float((uint16_t)(b >> shift));

		result |= (uint64_t)softgpu_float_to_half(sum) << shift;
	}
	return result;
}

static bool float_equal(unsigned int bytes, uint64_t a, uint64_t b)
{
	return bytes == 4 ? to_float(a) == to_float(b) : to_double(a) == to_double(b);
}

uint64_t softgpu_atomic_result(enum softgpu_atomic_operation operation, unsigned int bytes,
			       uint64_t memory, uint64_t data, uint64_t compare)
{
	int64_t signed_memory = bytes == 4 ? (int32_t)memory : (int64_t)memory;
	int64_t signed_data = bytes == 4 ? (int32_t)data : (int64_t)data;

	switch (operation) {
	case SOFTGPU_ATOMIC_SWAP:
		return data;
	case SOFTGPU_ATOMIC_COMPARE_SWAP:
		return memory == compare ? data : memory;
	case SOFTGPU_ATOMIC_ADD:
		return memory + data;
	case SOFTGPU_ATOMIC_SUB:
		return memory - data;
	case SOFTGPU_ATOMIC_REVERSE_SUB:
		return data - memory;
	case SOFTGPU_ATOMIC_SMIN:
		return signed_data < signed_memory ? data : memory;
	case SOFTGPU_ATOMIC_UMIN:
		return data < memory ? data : memory;
	case SOFTGPU_ATOMIC_SMAX:
		return signed_data > signed_memory ? data : memory;
	case SOFTGPU_ATOMIC_UMAX:
		return data > memory ? data : memory;
	case SOFTGPU_ATOMIC_AND:
		return memory & data;
	case SOFTGPU_ATOMIC_OR:
		return memory | data;
	case SOFTGPU_ATOMIC_XOR:
		return memory ^ data;
	case SOFTGPU_ATOMIC_INC:
		return memory >= data ? 0 : memory + 1;
	case SOFTGPU_ATOMIC_DEC:
		return memory == 0 || memory > data ? data : memory - 1;
	case SOFTGPU_ATOMIC_MASKED_OR:
		return (memory & ~compare) | data;
	case SOFTGPU_ATOMIC_ADD_FLOAT:
		return add_float(bytes, memory, data);
	case SOFTGPU_ATOMIC_MIN_FLOAT:
		return select_float(bytes, memory, data, true);
	case SOFTGPU_ATOMIC_MAX_FLOAT:
		return select_float(bytes, memory, data, false);
	case SOFTGPU_ATOMIC_COMPARE_SWAP_FLOAT:
		return float_equal(bytes, memory, compare) ? data : memory;
	case SOFTGPU_ATOMIC_PACKED_ADD_HALF:
		return packed_add_half(memory, data);
	}
	return memory;
}
