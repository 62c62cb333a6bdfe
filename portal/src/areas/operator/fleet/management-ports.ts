interface ManagementPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

/** `tcp 22, udp 51820`. */
export function showManagement(ports: readonly ManagementPort[]): string {
  return ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
}

/** Reads `tcp 22, udp 51820`; a number alone is of tcp. What is no port is left to the service to refuse. */
export function parseManagement(typed: string): ManagementPort[] {
  return typed
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [, protocol, port] = /^(?:(tcp|udp)\s+)?(.*)$/i.exec(part) ?? [];
      return { protocol: protocol?.toLowerCase() === 'udp' ? 'udp' : 'tcp', port: Number(port) };
    });
}
