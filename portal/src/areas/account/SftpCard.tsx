import { Button, NumberInput, Textarea, TextInput } from '@mantine/core';
import type { SftpAccess } from '@portcullis/client/index.ts';
import { KeyRound, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { SecretOnce } from '../../components/SecretOnce.tsx';
import { Time } from '../../components/Time.tsx';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { sftpMessages as text } from '../../messages/sftp.ts';
import { personClient } from '../../session/session.ts';
import { PasswordDialog } from './PasswordDialog.tsx';
import { useSftpAccess } from './queries.ts';

type Key = SftpAccess['data']['keys'][number];
type Password = SftpAccess['data']['passwords'][number];
type Item = (Key & { readonly kind: 'key' }) | (Password & { readonly kind: 'password' });

const DAYS = 90;

/** The SSH keys and SFTP passwords of the person. */
export function SftpCard() {
  const access = useSftpAccess();
  const [adding, setAdding] = useState<Item['kind'] | null>(null);
  const [made, setMade] = useState<{ readonly name: string; readonly secret: string } | null>(null);
  const [removed, setRemoved] = useState<Item | null>(null);
  const close = (): void => setAdding(null);
  return (
    <>
      <ListPanel<Item>
        title={text.title}
        isHeaded
        lead={text.lead}
        query={access}
        rows={access.data && itemsOf(access.data)}
        waitingRows={2}
        filter={
          <>
            <Button variant="default" onClick={() => setAdding('key')}>
              {text.addKey}
            </Button>
            <Button variant="default" onClick={() => setAdding('password')}>
              {text.makePassword}
            </Button>
          </>
        }
        empty={{ icon: KeyRound, ...text.empty }}
      >
        {(items) => (
          <ul className="items">
            {items.map((item) => (
              <Line key={`${item.kind} ${item.id}`} item={item} onRemove={() => setRemoved(item)} />
            ))}
          </ul>
        )}
      </ListPanel>
      {adding === 'key' && <AddKey onClose={close} />}
      {adding === 'password' && <MakePassword onMade={setMade} onClose={close} />}
      {made !== null && (
        <SecretOnce title={text.made(made.name)} secret={made.secret} onClose={() => setMade(null)}>
          {text.madeText}
        </SecretOnce>
      )}
      {removed !== null && <Remove item={removed} onClose={() => setRemoved(null)} />}
    </>
  );
}

function itemsOf({ keys, passwords }: SftpAccess['data']): Item[] {
  return [
    ...keys.map((key) => ({ ...key, kind: 'key' }) as const),
    ...passwords.map((password) => ({ ...password, kind: 'password' }) as const),
  ];
}

function Line({ item, onRemove }: { readonly item: Item; onRemove(): void }) {
  const { name, created_at: createdAt, last_used_at: usedAt } = item;
  return (
    <li>
      <div>
        <div className="strong">{name}</div>
        {item.kind === 'key' && <div className="mono dim">{item.fingerprint}</div>}
        <span className="dim">
          {text.added} <Time at={createdAt} />
          {usedAt !== null && (
            <>
              , {text.used} <Time at={usedAt} />
            </>
          )}
          {item.kind === 'password' && (
            <>
              , {text.ends} <Time at={item.expires_at} />
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

function AddKey({ onClose }: { onClose(): void }) {
  return (
    <PasswordDialog
      title={text.addKey}
      submit={text.addKey}
      initial={{ name: '', public_key: '', password: '' }}
      write={(body) => personClient.addSshKey({ body })}
      onClose={onClose}
    >
      {({ getInputProps }) => (
        <>
          <TextInput
            label={text.name}
            placeholder={text.namePlaceholder}
            maxLength={100}
            {...getInputProps('name')}
          />
          <Textarea
            label={text.key}
            description={text.keyText}
            rows={4}
            {...getInputProps('public_key')}
          />
        </>
      )}
    </PasswordDialog>
  );
}

interface MakeProps {
  onMade(made: { readonly name: string; readonly secret: string }): void;
  onClose(): void;
}

function MakePassword({ onMade, onClose }: MakeProps) {
  return (
    <PasswordDialog
      title={text.makePassword}
      submit={text.makePassword}
      initial={{ name: '', days: DAYS, password: '' }}
      write={(body) => personClient.makeSftpPassword({ body })}
      onDone={({ data }, { name }) => onMade({ name, secret: data.password })}
      onClose={onClose}
    >
      {({ getInputProps }) => (
        <>
          <TextInput
            label={text.name}
            placeholder={text.namePlaceholder}
            maxLength={100}
            {...getInputProps('name')}
          />
          <NumberInput label={text.days} min={1} max={365} {...getInputProps('days')} />
        </>
      )}
    </PasswordDialog>
  );
}

function Remove({ item, onClose }: { readonly item: Item; onClose(): void }) {
  return (
    <WriteDialog
      title={text.removeTitle(item.name)}
      submit={text.remove}
      isFinal
      write={() =>
        item.kind === 'key'
          ? personClient.deleteSshKey({ ssh_key: item.id })
          : personClient.deleteSftpPassword({ sftp_password: item.id })
      }
      onClose={onClose}
    >
      {text.removeText}
    </WriteDialog>
  );
}
