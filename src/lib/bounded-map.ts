// Maps of bounded size, which evict their oldest entries.

/** Sets a value as the newest entry. If the map then exceeds `capacity`, its oldest entry is evicted. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, capacity: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > capacity && oldest !== undefined) map.delete(oldest)
}
