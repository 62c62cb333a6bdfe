/** The form of subjects: a single address without its length. */
export function shownSubject(cidr: string): string {
  const single = cidr.endsWith(cidr.includes(':') ? '/128' : '/32');
  return single ? cidr.slice(0, cidr.lastIndexOf('/')) : cidr;
}
