/* SPDX-License-Identifier: MIT */
/*
 * QSA: the slots of compressed keys, of which every `ratio` positions of a context have one. It
 * belongs to the last of them; all other tokens, padding among them, have none: -1.
 *
 * One work-item a token.
 */
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void h2d_qsa_compressed_slots(global long *restrict compressed_slots,
				     global const long *restrict slot_mapping,
				     global const long *restrict logical_positions, uint tokens,
				     uint ratio)
{
	const uint token = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

	if (token >= tokens)
		return;

	const long position = logical_positions[token];
	const long slot = slot_mapping[token];
	/* Positions are within int32. */
	const bool last = position >= 0 && ((uint)position + 1) % ratio == 0;

	compressed_slots[token] = last && slot >= 0 ? (long)((ulong)slot / ratio) : -1;
}
