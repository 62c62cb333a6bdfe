/** `80,443,7000-7010`: ports as an expression, ascending. */
export function portExpression(ports: readonly number[]): string {
  const sorted = ports.toSorted((a, b) => a - b);
  const runs: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end += 1;
    runs.push(end === at ? `${sorted[at]}` : `${sorted[at]}-${sorted[end]}`);
    at = end + 1;
  }
  return runs.join(',');
}
