import { Button, TextInput } from '@mantine/core';
import type { Account } from '@portcullis/client/index.ts';
import { Fingerprint, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { Notice } from '../../components/Notice.tsx';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { Time } from '../../components/Time.tsx';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { messages } from '../../messages/index.ts';
import { addPasskey, passkeyRefusal } from '../../session/passkeys.ts';
import { personClient } from '../../session/session.ts';
import { PasswordDialog } from './PasswordDialog.tsx';
import { useAccount } from './queries.ts';

const text = messages.account.passkeys;
type Passkey = Account['data']['passkeys'][number];

export function PasskeysCard() {
  const account = useAccount();
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Passkey | null>(null);
  const refusal = passkeyRefusal();
  return (
    <>
      <ListPanel<Passkey>
        title={text.title}
        isHeaded
        lead={text.lead}
        query={account}
        rows={account.data?.passkeys}
        waitingRows={2}
        filter={
          refusal === null ? (
            <Button variant="default" onClick={() => setAdding(true)}>
              {text.add}
            </Button>
          ) : (
            <Notice kind="info">{refusal}</Notice>
          )
        }
        empty={{ icon: Fingerprint, ...text.empty }}
      >
        {(passkeys) => (
          <ul className="items">
            {passkeys.map((passkey) => (
              <Item key={passkey.id} passkey={passkey} onRemove={() => setRemoved(passkey)} />
            ))}
          </ul>
        )}
      </ListPanel>
      {isAdding && <AddPasskey onClose={() => setAdding(false)} />}
      {removed !== null && (
        <WriteDialog
          title={text.removeTitle(removed.name)}
          submit={text.remove}
          isFinal
          write={() => personClient.deletePasskey({ passkey: removed.id })}
          onClose={() => setRemoved(null)}
        >
          {text.removeText}
        </WriteDialog>
      )}
    </>
  );
}

function Item({ passkey, onRemove }: { readonly passkey: Passkey; onRemove(): void }) {
  const { name, created_at: createdAt, last_used_at: usedAt } = passkey;
  return (
    <li>
      <div>
        <div className="strong">{name}</div>
        <span className="dim">
          {text.added} <Time at={createdAt} />
          {usedAt !== null && (
            <>
              , {text.used} <Time at={usedAt} />
            </>
          )}
        </span>
      </div>
      <div className="row-end">
        <RoleIcon label={text.removeOf(name)} hint={text.remove} onClick={onRemove}>
          <Trash2 size={15} />
        </RoleIcon>
      </div>
    </li>
  );
}

function AddPasskey({ onClose }: { onClose(): void }) {
  return (
    <PasswordDialog
      title={text.add}
      submit={text.next}
      initial={{ password: '', name: '' }}
      write={({ password, name }) =>
        addPasskey({ password, name: name.trim() === '' ? text.defaultName : name.trim() })
      }
      onClose={onClose}
    >
      {({ getInputProps }) => (
        <>
          <div>{text.addText}</div>
          <TextInput
            label={text.name}
            placeholder={text.namePlaceholder}
            maxLength={100}
            {...getInputProps('name')}
          />
        </>
      )}
    </PasswordDialog>
  );
}
