// Maps of limited size, which keep only the newest entries.

/** Sets a value as the newest entry. If the map exceeds `capacity`, its oldest entry is removed. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, capacity: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > capacity && oldest !== undefined) map.delete(oldest)
}
