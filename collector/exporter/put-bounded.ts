/** Inserts at the end of a map; a full one loses its first entry. More entries than the limit are forged. */
export function putBounded<K, V>(map: Map<K, V>, key: K, value: V, limit: number): void {
  map.delete(key);
  if (map.size >= limit) map.delete(map.keys().next().value as K);
  map.set(key, value);
}
