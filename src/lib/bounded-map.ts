// Maps of limited size, which remember the newest entries.

/** Sets a value as the newest one; beyond `capacity` the oldest is forgotten. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, capacity: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > capacity && oldest !== undefined) map.delete(oldest)
}
