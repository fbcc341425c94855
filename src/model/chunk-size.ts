// The maximum size of a chunk in estimated bytes. It is small enough for a backend that accepts requests of 1 MB.
export const defaultChunkBytes = 512 * 1024
