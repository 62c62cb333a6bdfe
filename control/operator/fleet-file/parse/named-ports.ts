import { isPortName } from '@portcullis/core/firewall/rules/entry.ts';
import { findPort, type FoundPort, type NamedServer } from '../../../firewall/named-ports/index.ts';
import { PRIMARY } from '../../index.ts';
import type { Scope } from './scope.ts';

interface FilePort {
  readonly name: string;
  readonly port: number;
  readonly service: number;
}

/** A game server as the file writes it. */
interface FileServer {
  readonly uuid: string;
  readonly name: string;
  readonly organisation: string;
  readonly service: number;
  readonly allocation?: { readonly port: number };
  readonly allocations?: readonly { readonly port: number; readonly name?: string | null }[];
}

/** The ports of an organisation's game servers that rules and managed filters of the file may name. */
export class NamedPorts {
  readonly #servers: readonly NamedServer<FilePort>[];

  constructor(servers: readonly FileServer[], organisation: string) {
    this.#servers = servers
      .filter((server) => server.organisation === organisation)
      .map(({ uuid, name, service, allocation, allocations = [] }) => {
        const [first = allocation] = allocations;
        const ports = [
          ...(first === undefined ? [] : [{ name: PRIMARY, port: first.port, service }]),
          ...allocations.flatMap(({ name: of, port }) =>
            of === undefined || of === null || of === PRIMARY ? [] : [{ name: of, port, service }],
          ),
        ];
        return { uuid: uuid.toLowerCase(), name, ports };
      });
  }

  find(text: string): FoundPort<FilePort> {
    const found = findPort(text, this.#servers);
    return found.ok ? found : { ok: false, reason: `${found.reason} in this file` };
  }

  /**
   * Parses ports of a managed filter, in which an item may be a name, to their stored form: `80,UUID:query`. Returns
   * null when refused.
   */
  managed(expression: string | number, service: number, scope: Scope): string | null {
    const items = String(expression)
      .split(',')
      .map((item) => item.trim());
    const numbers = items.filter((item) => !isPortName(item));
    const parts = numbers.length > 0 ? [scope.ports(numbers.join(','))] : [];
    for (const item of items.filter(isPortName)) {
      const found = this.find(item);
      const reason = found.ok ? isElsewhere(found.port, service, item) : found.reason;
      if (reason !== null) scope.refuse(`${reason}.`);
      parts.push(found.ok && reason === null ? `${found.server}:${found.port.name}` : null);
    }
    return parts.includes(null) ? null : parts.join(',');
  }
}

function isElsewhere(port: FilePort, service: number, name: string): string | null {
  return port.service === service ? null : `${name} is a port of the service ${port.service}`;
}
