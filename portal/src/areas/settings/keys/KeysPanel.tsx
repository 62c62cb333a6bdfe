import { useQuery } from '@tanstack/react-query';
import type { ApiKey, ApiKeyCreated } from '@portcullis/client/index.ts';
import { Ban, KeyRound } from 'lucide-react';
import { useState } from 'react';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { apiKeyMessages as text } from '../../../messages/api-keys.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { type KeyState, sortKeys, stateOf } from './key-draft.ts';
import { KeyForm } from './KeyForm.tsx';

/** The organisation's API keys: each is shown whole only when it is made. */
export function KeysPanel() {
  const client = usePeopleClient();
  const [created, setCreated] = useState<ApiKeyCreated['data'] | null>(null);
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: async ({ signal }) => (await client.listKeys({}, { signal })).data,
  });
  const now = new Date();
  return (
    <>
      <ListPanel
        title={text.title}
        lead={text.lead}
        query={keys}
        rows={keys.data && sortKeys(keys.data, now)}
        columns={columnsOf(now, setRevoked)}
        keyOf={({ id }) => id}
        marksOf={(key) => ({ dim: stateOf(key, now) !== 'active' })}
        empty={{ icon: KeyRound, ...text.empty }}
        add={{
          label: text.create,
          needs: 'admin',
          form: (close) => <KeyForm onClose={close} onCreated={setCreated} />,
        }}
      />
      {created !== null && (
        <SecretOnce
          title={text.created(created.name)}
          secret={created.secret}
          onClose={() => setCreated(null)}
        >
          {text.createdText}
        </SecretOnce>
      )}
      {revoked !== null && (
        <WriteDialog
          title={text.revokeTitle(revoked.name)}
          submit={text.revoke}
          isFinal
          write={() => client.revokeKey({ key: revoked.id })}
          onClose={() => setRevoked(null)}
        >
          {revoked.owner === 'fleet' ? text.revokeFleet : text.revokeText}
        </WriteDialog>
      )}
    </>
  );
}

const TONES: Readonly<Record<KeyState, Tone>> = {
  active: 'ok',
  expired: 'warn',
  suspended: 'warn',
  revoked: 'neutral',
};

function columnsOf(now: Date, onRevoke: (key: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    {
      title: text.columns.name,
      cell: ({ name, hint }) => (
        <>
          <div className="strong">{name}</div>
          <span className="dim mono">{text.hint(hint)}</span>
        </>
      ),
    },
    {
      title: text.columns.abilities,
      cell: ({ abilities }) => (
        <div className="pills">
          {abilities.map((ability) => (
            <Pill key={ability} tone={ability.endsWith('.manage') ? 'info' : 'neutral'} plain>
              {text.abilities[ability]}
            </Pill>
          ))}
        </div>
      ),
    },
    {
      title: text.columns.limits,
      className: 'dim',
      cell: (key) => limitsOf(key).map((limit) => <div key={limit}>{limit}</div>),
    },
    timeColumn(text.columns.used, ({ last_used_at: at }) => at, text.never),
    timeColumn(text.columns.expires, ({ expires_at: at }) => at, text.noEnd),
    {
      title: text.columns.state,
      card: 'end',
      cell: (key) => (
        <div className="pills">
          <Pill tone={TONES[stateOf(key, now)]}>{text.states[stateOf(key, now)]}</Pill>
          {key.owner === 'fleet' && (
            <Pill tone="neutral" plain>
              {text.fleet}
            </Pill>
          )}
        </div>
      ),
    },
    {
      title: text.columns.actions,
      isTitleHidden: true,
      isNumber: true,
      cell: (key) =>
        stateOf(key, now) !== 'revoked' && (
          <RoleIcon
            label={text.revokeOf(key.name)}
            hint={text.revoke}
            onClick={() => onRevoke(key)}
          >
            <Ban size={15} />
          </RoleIcon>
        ),
    },
  ];
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
