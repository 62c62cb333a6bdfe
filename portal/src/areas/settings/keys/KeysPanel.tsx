import { useQuery } from '@tanstack/react-query';
import type { ApiKey, ApiKeyCreated } from '@portcullis/client/index.ts';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { WriteDialog } from '../../../components/WriteDialog.tsx';
import { messages } from '../../../messages/index.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { KeyForm } from './KeyForm.tsx';
import { KeyTable } from './KeyTable.tsx';

const text = messages.apiKeys;

/** The organisation's API keys: each is shown whole only when it is made. */
export function KeysPanel() {
  const client = usePeopleClient();
  const [isAdding, setAdding] = useState(false);
  const [created, setCreated] = useState<ApiKeyCreated['data'] | null>(null);
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: async ({ signal }) => (await client.listKeys({}, { signal })).data,
  });
  return (
    <section className="card" aria-label={text.title}>
      <div className="tools card-pad">
        <p className="dim flat grow-text">{text.lead}</p>
        <div className="row-end">
          <RoleButton
            needs="admin"
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => setAdding(true)}
          >
            {text.create}
          </RoleButton>
        </div>
      </div>
      {isAdding && (
        <KeyForm
          onClose={() => setAdding(false)}
          onCreated={(key) => {
            setAdding(false);
            setCreated(key);
          }}
        />
      )}
      <Loaded query={keys}>
        {(list) =>
          list.length === 0 ? (
            <EmptyState icon={KeyRound} title={text.empty.title} text={text.empty.text} />
          ) : (
            <KeyTable keys={list} onRevoke={setRevoked} />
          )
        }
      </Loaded>
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
    </section>
  );
}
