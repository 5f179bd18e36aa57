/* SPDX-License-Identifier: MIT */
/* Code objects: choosing the embedded one, loading any, finding kernels by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/hsa_error.h"
#include "hsa/device_state.h"
#include "hsa/embedded.h"
#include "hsa/isa_name.h"

struct h2d_code_object {
	h2d_device_t *device;
	hsa_executable_t executable;
	hsa_code_object_reader_t reader;
	void *bytes; /* the reader's, which debuggers may read as long as the executable lives */
};

/* ---- loading --------------------------------------------------------------------------------- */

void h2d_code_object_free(h2d_code_object_t *code_object)
{
	if (code_object == NULL)
		return;
	if (code_object->executable.handle != 0)
		hsa_executable_destroy(code_object->executable);
	if (code_object->reader.handle != 0)
		hsa_code_object_reader_destroy(code_object->reader);
	free(code_object->bytes);
	free(code_object);
}

static h2d_status_t load_executable(h2d_code_object_t *code_object, size_t size)
{
	hsa_status_t hsa = hsa_code_object_reader_create_from_memory(code_object->bytes, size,
								     &code_object->reader);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_code_object_reader_create_from_memory");
	hsa = hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
					NULL, &code_object->executable);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_executable_create_alt");
	hsa = hsa_executable_load_agent_code_object(
	    code_object->executable, code_object->device->agent, code_object->reader, NULL, NULL);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_executable_load_agent_code_object");
	hsa = hsa_executable_freeze(code_object->executable, NULL);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_executable_freeze");
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t load(h2d_device_t *device, const void *bytes, size_t size,
			 h2d_code_object_t **code_object)
{
	h2d_code_object_t *loaded = calloc(1, sizeof(*loaded));
	void *copy = malloc(size);

	if (loaded == NULL || copy == NULL) {
		free(loaded);
		free(copy);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "no memory for a code object of %zu bytes", size);
	}
	memcpy(copy, bytes, size);
	loaded->device = device;
	loaded->bytes = copy;
	h2d_status_t status = load_executable(loaded, size);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_code_object_free(loaded);
		return status;
	}
	*code_object = loaded;
	return H2D_STATUS_SUCCESS;
}

/* ---- the agent's ISAs ------------------------------------------------------------------------ */

#define ISA_NAME_SIZE sizeof(((h2d_device_info_t *)NULL)->isa)

/* Stores the name of an ISA; an empty one if it is too long to be any that we know. */
static hsa_status_t get_isa_name(hsa_isa_t isa, char name[ISA_NAME_SIZE])
{
	uint32_t length;
	hsa_status_t hsa = hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length);

	name[0] = '\0';
	if (hsa != HSA_STATUS_SUCCESS || length >= ISA_NAME_SIZE)
		return hsa;
	hsa = hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
	name[hsa == HSA_STATUS_SUCCESS ? length : 0] = '\0';
	return hsa;
}

struct isa_search {
	const char *code_isa;
	bool fits;
};

static hsa_status_t compare_isa(hsa_isa_t isa, void *data)
{
	struct isa_search *search = data;
	char name[ISA_NAME_SIZE];
	hsa_status_t hsa = get_isa_name(isa, name);

	if (hsa == HSA_STATUS_SUCCESS && h2d_isa_name_fits(search->code_isa, name))
		search->fits = true;
	return hsa;
}

/* An agent may have several ISAs: its own and generic ones of its family. */
static h2d_status_t check_isa(const h2d_device_t *device, const char *code_isa)
{
	struct isa_search search = {.code_isa = code_isa};
	hsa_status_t hsa = hsa_agent_iterate_isas(device->agent, compare_isa, &search);

	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_agent_iterate_isas");
	if (!search.fits)
		return h2d_error(H2D_STATUS_NOT_SUPPORTED,
				 "a code object for %s does not run on GPU %u, which is %s",
				 code_isa, device->info.index, device->info.isa);
	return H2D_STATUS_SUCCESS;
}

/* ---- the embedded code objects --------------------------------------------------------------- */

struct isa_choice {
	const struct h2d_embedded_code_object *embedded;
	char first_isa[ISA_NAME_SIZE];
	char isa[ISA_NAME_SIZE];
};

/* Agents list their ISAs from the most specific to the most generic. */
static hsa_status_t choose_embedded(hsa_isa_t isa, void *data)
{
	struct isa_choice *choice = data;
	char name[ISA_NAME_SIZE];
	hsa_status_t hsa = get_isa_name(isa, name);

	if (hsa != HSA_STATUS_SUCCESS)
		return hsa;
	if (choice->first_isa[0] == '\0')
		memcpy(choice->first_isa, name, sizeof(name));
	const struct h2d_embedded_code_object *embedded = h2d_embedded_code_objects;
	while (embedded->isa != NULL && !h2d_isa_name_fits(embedded->isa, name))
		embedded++;
	if (embedded->isa == NULL)
		return HSA_STATUS_SUCCESS;
	choice->embedded = embedded;
	memcpy(choice->isa, name, sizeof(name));
	return HSA_STATUS_INFO_BREAK;
}

static void list_embedded(char *list, size_t capacity)
{
	size_t used = 0;

	list[0] = '\0';
	for (const struct h2d_embedded_code_object *e = h2d_embedded_code_objects; e->isa != NULL;
	     e++) {
		int length =
		    snprintf(list + used, capacity - used, "%s%s", used == 0 ? "" : ", ", e->isa);
		if (length < 0 || (size_t)length >= capacity - used)
			return;
		used += (size_t)length;
	}
}

h2d_status_t h2d_device_load_kernels(h2d_device_t *device)
{
	struct isa_choice choice = {0};
	hsa_status_t hsa = hsa_agent_iterate_isas(device->agent, choose_embedded, &choice);

	if (hsa != HSA_STATUS_SUCCESS && hsa != HSA_STATUS_INFO_BREAK)
		return h2d_hsa_error(hsa, "hsa_agent_iterate_isas");
	if (choice.embedded == NULL) {
		char list[256];
		list_embedded(list, sizeof(list));
		return h2d_error(H2D_STATUS_NOT_SUPPORTED,
				 "GPU %u needs kernels for %s; this build of h2dpub has: %s",
				 device->info.index, choice.first_isa, list);
	}
	memcpy(device->info.isa, choice.isa, sizeof(device->info.isa));
	return load(device, choice.embedded->begin,
		    (size_t)(choice.embedded->end - choice.embedded->begin), &device->kernels);
}

/* ---- the public calls ------------------------------------------------------------------------ */

h2d_status_t h2d_code_object_load(h2d_device_t *device, const void *bytes, size_t size,
				  h2d_code_object_t **code_object)
{
	static const unsigned char elf_magic[] = {0x7f, 'E', 'L', 'F'};
	char isa[ISA_NAME_SIZE];

	if (device == NULL || bytes == NULL || code_object == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_code_object_load: %s is NULL",
				 device == NULL	 ? "device"
				 : bytes == NULL ? "bytes"
						 : "code_object");
	/* An ELF file header of 64 bits; the runtime checks the rest. */
	if (size < 64 || memcmp(bytes, elf_magic, sizeof(elf_magic)) != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_code_object_load: %zu bytes that are no ELF file", size);
	h2d_status_t status = H2D_STATUS_SUCCESS;
	if (h2d_isa_name_of_code_object(bytes, size, isa, sizeof(isa)))
		status = check_isa(device, isa);
	if (status == H2D_STATUS_SUCCESS)
		status = load(device, bytes, size, code_object);
	if (status == H2D_STATUS_SUCCESS)
		h2d_device_retain(device);
	return status;
}

h2d_status_t h2d_code_object_unload(h2d_code_object_t *code_object)
{
	if (code_object == NULL)
		return H2D_STATUS_SUCCESS;
	h2d_device_t *device = code_object->device;
	h2d_code_object_free(code_object);
	h2d_device_release(device);
	return H2D_STATUS_SUCCESS;
}

/* The kernel descriptor's symbol is the kernel's name with ".kd" behind it. */
static hsa_status_t find_symbol(const h2d_code_object_t *code_object, const char *name,
				hsa_executable_symbol_t *symbol)
{
	char descriptor[256];
	int length = snprintf(descriptor, sizeof(descriptor), "%s.kd", name);

	if (length < 0 || (size_t)length >= sizeof(descriptor))
		return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
	return hsa_executable_get_symbol_by_name(code_object->executable, descriptor,
						 &code_object->device->agent, symbol);
}

h2d_status_t h2d_code_object_get_kernel(const h2d_code_object_t *code_object, const char *name,
					h2d_kernel_t *kernel)
{
	if (code_object == NULL || name == NULL || kernel == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_code_object_get_kernel: %s is NULL",
				 code_object == NULL ? "code_object"
				 : name == NULL	     ? "name"
						     : "kernel");
	hsa_executable_symbol_t symbol;
	hsa_status_t hsa = find_symbol(code_object, name, &symbol);
	if (hsa == HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)
		return h2d_error(H2D_STATUS_NOT_FOUND, "the code object has no kernel \"%s\"",
				 name);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_executable_get_symbol_by_name");

	h2d_kernel_t found;
	const struct {
		hsa_executable_symbol_info_t attribute;
		void *value;
	} attributes[] = {
	    {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &found.object},
	    {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &found.kernel_arguments_size},
	    {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &found.group_segment_size},
	    {HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &found.private_segment_size},
	};
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		hsa = hsa_executable_symbol_get_info(symbol, attributes[i].attribute,
						     attributes[i].value);
		if (hsa != HSA_STATUS_SUCCESS)
			return h2d_hsa_error(hsa, "hsa_executable_symbol_get_info");
	}
	*kernel = found;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_get_kernel(const h2d_device_t *device, const char *name,
				   h2d_kernel_t *kernel)
{
	if (device == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_device_get_kernel: device is NULL");
	return h2d_code_object_get_kernel(device->kernels, name, kernel);
}
