import { isPortName } from '@portcullis/core/firewall/rules/entry.ts';
import { sentence } from '../../index.ts';
import type { NamedPorts } from './named-ports.ts';
import type { Scope } from './scope.ts';
import type { OrganisationText } from '../schema/schema.ts';

/** An organisation whose services and groups name ports of game servers as the schemas of their kinds have them. */
export function withNamedPorts(text: OrganisationText, named: NamedPorts, scope: Scope): object {
  const services = text.services?.map((service, index) => ({
    ...service,
    managed_filters: service.managed_filters?.map((filter, at) => {
      if (typeof filter === 'string') return { type: filter, ports: null };
      const { type, ports } = filter;
      const within = scope.in('services', index, 'managed_filters', at, 'ports');
      return { type, ports: ports === undefined ? null : named.managed(ports, service.id, within) };
    }),
  }));
  const groups = text.groups?.map((group, index) => ({
    ...group,
    rules: group.rules?.map((rule, at) => {
      const { destination_port: port } = rule;
      if (typeof port !== 'string' || !isPortName(port)) return rule;
      const found = named.find(port);
      if (found.ok) return { ...rule, destination_port: `${found.server}:${found.port.name}` };
      scope.in('groups', index, 'rules', at, 'destination_port').refuse(sentence(found.reason));
      return { ...rule, destination_port: null };
    }),
  }));
  return { ...text, services, groups };
}
