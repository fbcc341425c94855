// How large a chunk may get.

/** Estimated bytes: small enough for a backend that accepts requests of 1 MB. */
export const defaultChunkBytes = 512 * 1024
