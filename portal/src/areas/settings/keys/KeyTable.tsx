import { ActionIcon, Tooltip } from '@mantine/core';
import type { ApiKey } from '@portcullis/client/index.ts';
import { Ban } from 'lucide-react';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { type KeyState, sortKeys, stateOf } from './key-draft.ts';

const text = messages.apiKeys;
const TONES: Readonly<Record<KeyState, Tone>> = {
  active: 'ok',
  expired: 'warn',
  suspended: 'warn',
  revoked: 'neutral',
};

interface Props {
  readonly keys: readonly ApiKey[];
  onRevoke(key: ApiKey): void;
}

export function KeyTable({ keys, onRevoke }: Props) {
  const now = new Date();
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.columns.name}</th>
            <th scope="col">{text.columns.abilities}</th>
            <th scope="col">{text.columns.limits}</th>
            <th scope="col">{text.columns.used}</th>
            <th scope="col">{text.columns.expires}</th>
            <th scope="col">{text.columns.state}</th>
            <th scope="col">
              <span className="hidden">{text.columns.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sortKeys(keys, now).map((key) => (
            <KeyRow key={key.id} apiKey={key} now={now} onRevoke={onRevoke} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly apiKey: ApiKey;
  readonly now: Date;
  onRevoke(key: ApiKey): void;
}

function KeyRow({ apiKey, now, onRevoke }: RowProps) {
  const state = stateOf(apiKey, now);
  return (
    <tr data-dim={state === 'active' ? undefined : ''}>
      <td>
        <div className="strong">{apiKey.name}</div>
        <span className="dim mono">{text.hint(apiKey.hint)}</span>
      </td>
      <td>
        <div className="pills">
          {apiKey.abilities.map((ability) => (
            <Pill key={ability} tone={ability.endsWith('.manage') ? 'info' : 'neutral'} plain>
              {text.abilities[ability]}
            </Pill>
          ))}
        </div>
      </td>
      <td className="dim">
        {limitsOf(apiKey).map((limit) => (
          <div key={limit}>{limit}</div>
        ))}
      </td>
      <td className="dim nowrap">
        {apiKey.last_used_at === null ? text.never : <Time at={apiKey.last_used_at} />}
      </td>
      <td className="dim nowrap">
        {apiKey.expires_at === null ? text.noEnd : <Time at={apiKey.expires_at} />}
      </td>
      <td>
        <div className="pills">
          <Pill tone={TONES[state]}>{text.states[state]}</Pill>
          {apiKey.owner === 'fleet' && (
            <Pill tone="neutral" plain>
              {text.fleet}
            </Pill>
          )}
        </div>
      </td>
      <td className="num">
        {state !== 'revoked' && (
          <Tooltip label={text.revoke}>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={text.revokeOf(apiKey.name)}
              onClick={() => onRevoke(apiKey)}
            >
              <Ban size={15} />
            </ActionIcon>
          </Tooltip>
        )}
      </td>
    </tr>
  );
}

function limitsOf({ servers, managed_servers, prefixes, sources }: ApiKey): string[] {
  const limits = [
    ...(servers === null ? [] : [text.limits.servers(servers.length)]),
    ...(managed_servers === null ? [] : [text.limits.managed(managed_servers.length)]),
    ...(prefixes === null ? [] : [text.limits.prefixes(prefixes.join(', '))]),
    ...(sources === null ? [] : [text.limits.sources(sources.join(', '))]),
  ];
  return limits.length === 0 ? [text.limits.none] : limits;
}
