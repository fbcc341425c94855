// Gives the memory of buffers back when they are no longer needed. The collector counts them apart from its own heap, and lets some 64 MiB of
// them die on each thread before it looks: a daemon through whose hands bodies go in MiB a second keeps as much without need.

/**
 * Frees the memory at once, so that the next buffer gets it. The caller is the last user: nobody may have the bytes any more, above all no socket
 * that still sends them. Parts of a larger buffer are left to the collector.
 */
export function giveBack(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes
  // Those that were given back have none.
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
