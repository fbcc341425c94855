// Releases the memory of buffers that are no longer needed. The collector counts them apart from its own heap, and lets some 64 MiB of
// garbage accumulate on each thread before it runs: a daemon that handles MiB of bodies a second keeps that much needlessly.

/**
 * Frees the memory at once, so that the next buffer gets it. The caller is the last user: no other code may use the bytes any more, above all no socket
 * that still sends them. Parts of a larger buffer are left to the collector.
 */
export function giveBack(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes
  // Released buffers have none.
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
