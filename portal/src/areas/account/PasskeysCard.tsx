import { ActionIcon, Button, TextInput, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Account } from '@portcullis/client/index.ts';
import { Fingerprint, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../components/Confirm.tsx';
import { EmptyState } from '../../components/EmptyState.tsx';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PasswordPrompt } from '../../components/PasswordPrompt.tsx';
import { Time } from '../../components/Time.tsx';
import { messages } from '../../messages/index.ts';
import { addPasskey, passkeyRefusal } from '../../session/passkeys.ts';
import { personClient } from '../../session/session.ts';
import { useAccount, useRefreshAccount } from './queries.ts';

const text = messages.account.passkeys;
type Passkey = Account['data']['passkeys'][number];

export function PasskeysCard() {
  const account = useAccount();
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Passkey | null>(null);
  const refusal = passkeyRefusal();
  return (
    <section className="card" aria-label={text.title}>
      <div className="card-pad">
        <h2>{text.title}</h2>
        <p>{text.lead}</p>
        {refusal === null ? (
          <Button variant="default" onClick={() => setAdding(true)}>
            {text.add}
          </Button>
        ) : (
          <Notice kind="info">{refusal}</Notice>
        )}
      </div>
      <Loaded query={account} rows={2}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <EmptyState icon={Fingerprint} title={text.empty.title} text={text.empty.text} />
          ) : (
            <ul className="items">
              {passkeys.map((passkey) => (
                <li key={passkey.id}>
                  <div>
                    <div className="strong">{passkey.name}</div>
                    <span className="dim">
                      {text.added} <Time at={passkey.created_at} />
                      {passkey.last_used_at !== null && (
                        <>
                          , {text.used} <Time at={passkey.last_used_at} />
                        </>
                      )}
                    </span>
                  </div>
                  <Tooltip label={text.remove}>
                    <ActionIcon
                      className="row-end"
                      variant="subtle"
                      color="gray"
                      aria-label={text.removeOf(passkey.name)}
                      onClick={() => setRemoved(passkey)}
                    >
                      <Trash2 size={15} />
                    </ActionIcon>
                  </Tooltip>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {isAdding && <AddPasskey onClose={() => setAdding(false)} />}
      {removed !== null && <RemovePasskey passkey={removed} onClose={() => setRemoved(null)} />}
    </section>
  );
}

function AddPasskey({ onClose }: { onClose(): void }) {
  const refresh = useRefreshAccount();
  const [name, setName] = useState('');
  const add = useMutation({
    mutationFn: (password: string) =>
      addPasskey({ password, name: name.trim() === '' ? text.defaultName : name.trim() }),
    onSuccess() {
      refresh();
      onClose();
    },
  });
  return (
    <PasswordPrompt title={text.add} confirm={text.next} write={add} onClose={onClose}>
      <div>{text.addText}</div>
      <TextInput
        label={text.name}
        placeholder={text.namePlaceholder}
        value={name}
        maxLength={100}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </PasswordPrompt>
  );
}

function RemovePasskey({ passkey, onClose }: { readonly passkey: Passkey; onClose(): void }) {
  const refresh = useRefreshAccount();
  const remove = useMutation({
    mutationFn: () => personClient.deletePasskey({ passkey: passkey.id }),
    onSuccess: refresh,
  });
  return (
    <Confirm
      title={text.removeTitle(passkey.name)}
      confirm={text.remove}
      write={remove}
      onClose={onClose}
    >
      {text.removeText}
    </Confirm>
  );
}
