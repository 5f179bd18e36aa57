/* SPDX-License-Identifier: MIT */
/*
 * A plain HIP program: kernels compiled by hipcc, memory, streams, events and atomics through the
 * unmodified HIP runtime. Prints TAP. Debian packages: hipcc libamdhip64-dev libamd-comgr-dev
 * rocm-device-libs (with clang-15, lld-15 and llvm-15, which hipcc needs).
 */
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace
{

/* Ends the running test with the call that failed. */
struct failure {
	std::string text;
};

#define HIP_CHECK(call)                                                                            \
	do {                                                                                       \
		hipError_t error_ = (call);                                                        \
		if (error_ != hipSuccess)                                                          \
			throw failure{std::string(#call ": ") + hipGetErrorString(error_)};        \
	} while (0)

void require(bool condition, const char *what, size_t index)
{
	if (!condition)
		throw failure{std::string(what) + " at " + std::to_string(index)};
}

uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return static_cast<uint32_t>(*state >> 33);
}

template <typename T> class device_array
{
      public:
	explicit device_array(size_t count) : count_(count)
	{
		HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&data_), count * sizeof(T)));
	}
	explicit device_array(const std::vector<T> &values) : device_array(values.size())
	{
		HIP_CHECK(
			hipMemcpy(data_, values.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
	}
	device_array(const device_array &) = delete;
	device_array &operator=(const device_array &) = delete;
	~device_array()
	{
		(void)hipFree(data_);
	}
	T *get() const
	{
		return data_;
	}
	std::vector<T> fetch() const
	{
		std::vector<T> values(count_);
		HIP_CHECK(
			hipMemcpy(values.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
		return values;
	}

      private:
	size_t count_;
	T *data_ = nullptr;
};

__global__ void add_vectors(const float *a, const float *b, float *sum, unsigned count)
{
	unsigned index = blockIdx.x * blockDim.x + threadIdx.x;

	if (index < count)
		sum[index] = a[index] + b[index];
}

void adds_vectors()
{
	const unsigned count = 100003;
	std::vector<float> a(count), b(count);
	uint64_t random = 1;

	for (unsigned index = 0; index < count; index++) {
		a[index] = static_cast<float>(next_random(&random)) * 0x1p-20f;
		b[index] = static_cast<float>(next_random(&random)) * 0x1p-24f;
	}
	device_array<float> device_a(a), device_b(b), device_sum(count);
	add_vectors<<<(count + 255) / 256, 256>>>(device_a.get(), device_b.get(), device_sum.get(),
						  count);
	HIP_CHECK(hipGetLastError());
	std::vector<float> sum = device_sum.fetch();
	for (unsigned index = 0; index < count; index++)
		require(sum[index] == a[index] + b[index], "wrong sum", index);
}

__global__ void sum_blocks(const uint32_t *values, uint64_t *sums, unsigned count)
{
	__shared__ uint64_t partial[256];
	unsigned index = blockIdx.x * blockDim.x + threadIdx.x;

	partial[threadIdx.x] = index < count ? values[index] : 0;
	__syncthreads();
	for (unsigned distance = blockDim.x / 2; distance; distance /= 2) {
		if (threadIdx.x < distance)
			partial[threadIdx.x] += partial[threadIdx.x + distance];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		sums[blockIdx.x] = partial[0];
}

void reduces_in_shared_memory()
{
	const unsigned count = 50001, blocks = (count + 255) / 256;
	std::vector<uint32_t> values(count);
	std::vector<uint64_t> expected(blocks, 0);
	uint64_t random = 2;

	for (unsigned index = 0; index < count; index++) {
		values[index] = next_random(&random);
		expected[index / 256] += values[index];
	}
	device_array<uint32_t> device_values(values);
	device_array<uint64_t> device_sums(blocks);
	sum_blocks<<<blocks, 256>>>(device_values.get(), device_sums.get(), count);
	HIP_CHECK(hipGetLastError());
	std::vector<uint64_t> sums = device_sums.fetch();
	for (unsigned block = 0; block < blocks; block++)
		require(sums[block] == expected[block], "wrong block sum", block);
}

__global__ void count_values(const uint32_t *values, uint32_t *bins, uint32_t *largest,
			     unsigned count)
{
	unsigned index = blockIdx.x * blockDim.x + threadIdx.x;

	if (index >= count)
		return;
	atomicAdd(bins + values[index] % 64, 1u);
	atomicMax(largest, values[index]);
}

void counts_by_atomics()
{
	const unsigned count = 30011;
	std::vector<uint32_t> values(count), expected(64, 0);
	uint64_t random = 3;
	uint32_t most = 0;

	for (uint32_t &value : values) {
		value = next_random(&random);
		expected[value % 64]++;
		most = value > most ? value : most;
	}
	device_array<uint32_t> device_values(values), bins(std::vector<uint32_t>(64, 0)),
		largest(std::vector<uint32_t>(1, 0));
	count_values<<<(count + 127) / 128, 128>>>(device_values.get(), bins.get(), largest.get(),
						   count);
	HIP_CHECK(hipGetLastError());
	std::vector<uint32_t> found = bins.fetch();
	for (unsigned bin = 0; bin < 64; bin++)
		require(found[bin] == expected[bin], "wrong bin", bin);
	require(largest.fetch()[0] == most, "wrong maximum", 0);
}

__global__ void mix_words(uint32_t *words, unsigned count, uint32_t key)
{
	unsigned index = blockIdx.x * blockDim.x + threadIdx.x;

	if (index < count)
		words[index] = (words[index] ^ key) * 2654435761u + index;
}

/* Copies and kernels on four streams; an event makes the last stream wait for the others. */
void orders_streams_by_events()
{
	enum { STREAMS = 4, COUNT = 20000, ROUNDS = 5 };
	uint32_t *pinned = nullptr;
	hipStream_t stream[STREAMS];
	hipEvent_t done[STREAMS];
	std::vector<uint32_t> expected(STREAMS * COUNT);
	uint64_t random = 4;

	HIP_CHECK(hipHostMalloc(reinterpret_cast<void **>(&pinned),
				STREAMS * COUNT * sizeof(uint32_t), 0));
	for (size_t index = 0; index < expected.size(); index++)
		expected[index] = pinned[index] = next_random(&random);
	device_array<uint32_t> words(STREAMS * COUNT);
	for (int which = 0; which < STREAMS; which++) {
		const size_t bytes = COUNT * sizeof(uint32_t);

		HIP_CHECK(hipStreamCreate(&stream[which]));
		HIP_CHECK(hipEventCreate(&done[which]));
		HIP_CHECK(hipMemcpyAsync(words.get() + which * COUNT, pinned + which * COUNT, bytes,
					 hipMemcpyHostToDevice, stream[which]));
		for (uint32_t round = 0; round < ROUNDS; round++)
			mix_words<<<(COUNT + 255) / 256, 256, 0, stream[which]>>>(
				words.get() + which * COUNT, COUNT, round + which);
		HIP_CHECK(hipEventRecord(done[which], stream[which]));
	}
	for (int which = 0; which < STREAMS - 1; which++)
		HIP_CHECK(hipStreamWaitEvent(stream[STREAMS - 1], done[which], 0));
	HIP_CHECK(hipMemcpyAsync(pinned, words.get(), STREAMS * COUNT * sizeof(uint32_t),
				 hipMemcpyDeviceToHost, stream[STREAMS - 1]));
	HIP_CHECK(hipStreamSynchronize(stream[STREAMS - 1]));

	for (uint32_t index = 0; index < STREAMS * COUNT; index++) {
		uint32_t value = expected[index];

		for (uint32_t round = 0; round < ROUNDS; round++)
			value = (value ^ (round + index / COUNT)) * 2654435761u + index % COUNT;
		require(pinned[index] == value, "wrong word", index);
	}
	float milliseconds = -1;
	HIP_CHECK(hipEventElapsedTime(&milliseconds, done[0], done[STREAMS - 1]));
	require(milliseconds > -10000 && milliseconds < 600000, "impossible time", 0);
	for (int which = 0; which < STREAMS; which++) {
		HIP_CHECK(hipEventDestroy(done[which]));
		HIP_CHECK(hipStreamDestroy(stream[which]));
	}
	HIP_CHECK(hipHostFree(pinned));
}

/* Unaligned copies of odd sizes between host and device and on the device. */
void copies_unaligned_bytes()
{
	const size_t size = 70001;
	std::vector<uint8_t> source(size), target(size, 0xee);
	uint64_t random = 5;

	for (uint8_t &byte : source)
		byte = static_cast<uint8_t>(next_random(&random));
	device_array<uint8_t> first(size), second(size);
	HIP_CHECK(hipMemset(second.get(), 0x77, size));
	HIP_CHECK(hipMemcpy(first.get() + 3, source.data() + 5, size - 8, hipMemcpyHostToDevice));
	HIP_CHECK(hipMemcpy(second.get() + 7, first.get() + 4, size - 20, hipMemcpyDeviceToDevice));
	HIP_CHECK(hipMemcpy(target.data(), second.get(), size, hipMemcpyDeviceToHost));
	for (size_t index = 0; index < size; index++) {
		const bool copied = index >= 7 && index < 7 + size - 20;
		const uint8_t expected = copied ? source[index - 7 + 1 + 5] : 0x77;

		require(target[index] == expected, "wrong byte", index);
	}
}

__device__ uint32_t fibonacci(uint32_t number)
{
	return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2);
}

__global__ void recurse(uint32_t *output)
{
	output[threadIdx.x] = fibonacci(threadIdx.x % 12);
}

void recurses_on_the_stack()
{
	device_array<uint32_t> output(64);

	recurse<<<1, 64>>>(output.get());
	HIP_CHECK(hipGetLastError());
	std::vector<uint32_t> found = output.fetch();
	static const uint32_t expected[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
	for (uint32_t lane = 0; lane < 64; lane++)
		require(found[lane] == expected[lane % 12], "wrong number", lane);
}

constexpr int FUNCTIONS = 10;
constexpr double ULPS = 4; /* no function of the device library is documented as worse */

template <typename T> __global__ void apply_functions(const T *x, const T *y, T *results, int count)
{
	int index = blockIdx.x * blockDim.x + threadIdx.x;

	if (index >= count)
		return;
	T *mine = results + index * FUNCTIONS;
	mine[0] = sin(x[index]);
	mine[1] = cos(x[index]);
	mine[2] = exp(y[index]);
	mine[3] = log(fabs(x[index]));
	mine[4] = pow(fabs(x[index]), y[index]);
	mine[5] = sqrt(fabs(x[index]));
	mine[6] = atan2(x[index], y[index]);
	mine[7] = tanh(y[index]);
	mine[8] = cbrt(x[index]);
	mine[9] = fmod(x[index], y[index]);
}

/* Distance of a result from the value in extended precision, in units of its last place. */
template <typename T> double ulps_apart(T found, long double expected)
{
	const int bits = std::numeric_limits<T>::digits;
	int exponent;

	if (std::isinf(static_cast<T>(expected)))
		return found == static_cast<T>(expected) ? 0 : INFINITY;
	(void)std::frexp(expected, &exponent);
	if (exponent < std::numeric_limits<T>::min_exponent)
		exponent = std::numeric_limits<T>::min_exponent;
	return static_cast<double>(std::fabs(found - expected) /
				   std::ldexp(static_cast<long double>(1), exponent - bits));
}

template <typename T> void computes_functions()
{
	const int count = 3000;
	std::vector<T> x(count), y(count);
	uint64_t random = 6;

	for (int index = 0; index < count; index++) {
		const double scales[] = {1, 20, 1e4, 1e9, 1e30};

		x[index] =
			static_cast<T>((next_random(&random) * 0x1p-30 - 1.0) * scales[index % 5]);
		y[index] = static_cast<T>((next_random(&random) * 0x1p-30 - 1.0) * 10);
	}
	device_array<T> device_x(x), device_y(y), device_results(count * FUNCTIONS);
	apply_functions<<<(count + 255) / 256, 256>>>(device_x.get(), device_y.get(),
						      device_results.get(), count);
	HIP_CHECK(hipGetLastError());
	std::vector<T> results = device_results.fetch();
	for (int index = 0; index < count; index++) {
		const long double a = x[index], b = y[index], size = std::fabs(a);
		const long double expected[FUNCTIONS] = {
			std::sin(a),	   std::cos(a),	    std::exp(b),      std::log(size),
			std::pow(size, b), std::sqrt(size), std::atan2(a, b), std::tanh(b),
			std::cbrt(a),	   std::fmod(a, b)};

		for (int which = 0; which < FUNCTIONS; which++)
			require(ulps_apart(results[index * FUNCTIONS + which], expected[which]) <=
					ULPS,
				"inexact function", index * FUNCTIONS + which);
	}
}

__global__ void exchange_lanes(int *output)
{
	const int lane = threadIdx.x, value = lane * 3 + 1;

	output[lane] = __shfl(value, lane * 7 % 64);
	output[64 + lane] = __shfl_xor(value, 5);
	output[128 + lane] = __shfl_up(value, 3);
	output[192 + lane] = __shfl_down(value, 9);
	output[256 + lane] = __popcll(__ballot(lane % 3 == 0)) + __any(lane == 5) + __all(lane < 9);
}

void exchanges_lanes()
{
	device_array<int> output(320);

	exchange_lanes<<<1, 64>>>(output.get());
	HIP_CHECK(hipGetLastError());
	std::vector<int> found = output.fetch();
	for (int lane = 0; lane < 64; lane++) {
		const int expected[] = {lane * 7 % 64 * 3 + 1, (lane ^ 5) * 3 + 1,
					(lane >= 3 ? lane - 3 : lane) * 3 + 1,
					(lane + 9 < 64 ? lane + 9 : lane) * 3 + 1, 22 + 1};

		for (int which = 0; which < 5; which++)
			require(found[which * 64 + lane] == expected[which], "wrong lane",
				which * 64 + lane);
	}
}

void copies_rectangles()
{
	const size_t width = 37, height = 29, from_pitch = 64, to_pitch = 100;
	std::vector<uint8_t> source(from_pitch * height), target(to_pitch * height, 9);
	void *middle = nullptr;
	size_t pitch = 0;

	for (size_t index = 0; index < source.size(); index++)
		source[index] = static_cast<uint8_t>(index * 7);
	HIP_CHECK(hipMallocPitch(&middle, &pitch, width, height));
	HIP_CHECK(hipMemcpy2D(middle, pitch, source.data(), from_pitch, width, height,
			      hipMemcpyHostToDevice));
	HIP_CHECK(hipMemcpy2D(target.data(), to_pitch, middle, pitch, width, height,
			      hipMemcpyDeviceToHost));
	HIP_CHECK(hipFree(middle));
	for (size_t index = 0; index < target.size(); index++) {
		const size_t x = index % to_pitch, y = index / to_pitch;
		const uint8_t expected = x < width ? source[y * from_pitch + x] : 9;

		require(target[index] == expected, "wrong byte", index);
	}
}

void replays_a_graph()
{
	const unsigned count = 1000;
	std::vector<uint32_t> input(count), output(count);
	device_array<uint32_t> words(count);
	hipStream_t stream;
	hipGraph_t graph;
	hipGraphExec_t replay;

	HIP_CHECK(hipStreamCreate(&stream));
	HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	HIP_CHECK(hipMemcpyAsync(words.get(), input.data(), count * sizeof(uint32_t),
				 hipMemcpyHostToDevice, stream));
	for (uint32_t round = 0; round < 3; round++)
		mix_words<<<4, 256, 0, stream>>>(words.get(), count, round);
	HIP_CHECK(hipMemcpyAsync(output.data(), words.get(), count * sizeof(uint32_t),
				 hipMemcpyDeviceToHost, stream));
	HIP_CHECK(hipStreamEndCapture(stream, &graph));
	HIP_CHECK(hipGraphInstantiate(&replay, graph, nullptr, nullptr, 0));
	for (uint32_t turn = 0; turn < 4; turn++) {
		for (uint32_t index = 0; index < count; index++)
			input[index] = turn * 1000 + index;
		HIP_CHECK(hipGraphLaunch(replay, stream));
		HIP_CHECK(hipStreamSynchronize(stream));
		for (uint32_t index = 0; index < count; index++) {
			uint32_t value = input[index];

			for (uint32_t round = 0; round < 3; round++)
				value = (value ^ round) * 2654435761u + index;
			require(output[index] == value, "wrong word", index);
		}
	}
	HIP_CHECK(hipGraphExecDestroy(replay));
	HIP_CHECK(hipGraphDestroy(graph));
	HIP_CHECK(hipStreamDestroy(stream));
}

void names_the_device()
{
	hipDeviceProp_t properties;
	int count = 0;

	HIP_CHECK(hipGetDeviceCount(&count));
	require(count >= 1, "no device", 0);
	HIP_CHECK(hipGetDeviceProperties(&properties, 0));
	require(std::strncmp(properties.gcnArchName, "gfx90a", 6) == 0, "not a gfx90a", 0);
	require(properties.warpSize == 64, "wrong wave size", 0);
}

const struct {
	const char *name;
	void (*run)();
} tests[] = {
	{"names_the_device", names_the_device},
	{"adds_vectors", adds_vectors},
	{"reduces_in_shared_memory", reduces_in_shared_memory},
	{"counts_by_atomics", counts_by_atomics},
	{"orders_streams_by_events", orders_streams_by_events},
	{"copies_unaligned_bytes", copies_unaligned_bytes},
	{"recurses_on_the_stack", recurses_on_the_stack},
	{"computes_functions_of_float", computes_functions<float>},
	{"computes_functions_of_double", computes_functions<double>},
	{"exchanges_lanes", exchanges_lanes},
	{"copies_rectangles", copies_rectangles},
	{"replays_a_graph", replays_a_graph},
};

} // namespace

int main()
{
	int number = 0, failed = 0;

	std::printf("1..%zu\n", sizeof(tests) / sizeof(tests[0]));
	for (const auto &test : tests) {
		number++;
		try {
			test.run();
			std::printf("ok %d - %s\n", number, test.name);
		} catch (const failure &caught) {
			std::printf("not ok %d - %s: %s\n", number, test.name, caught.text.c_str());
			failed++;
		}
		std::fflush(stdout);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
