/** An address and port as clients take them: an IPv6 address in brackets. */
export function placeOf({ ip, port }: { readonly ip: string; readonly port: number }): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}
