import {
  Button,
  Checkbox,
  MultiSelect,
  SegmentedControl,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ApiKeyCreated } from '@portcullis/client/index.ts';
import { type SubmitEvent, useState } from 'react';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { usePeopleClient } from '../../../session/session.ts';
import {
  ABILITIES,
  bodyOf,
  EMPTY_DRAFT,
  type KeyDraft,
  LIFETIMES,
  parseNetworks,
} from './key-draft.ts';

const text = messages.apiKeys;

interface Props {
  onClose(): void;
  onCreated(key: ApiKeyCreated['data']): void;
}

type Change = (part: Partial<KeyDraft>) => void;

/** What a key may do, on what, from where and how long. */
export function KeyForm({ onClose, onCreated }: Props) {
  const client = usePeopleClient();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const change: Change = (part) => setDraft({ ...draft, ...part });
  const create = useMutation({
    mutationFn: async () => (await client.createKey({ body: bodyOf(draft, new Date()) })).data,
    onSuccess: onCreated,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  const isValid =
    draft.name.trim() !== '' &&
    draft.abilities.length > 0 &&
    [draft.prefixes, draft.sources].every((typed) => parseNetworks(typed).mistake === null);
  return (
    <form className="panel stack" aria-label={text.create} onSubmit={submit}>
      <div className="form-row">
        <TextInput
          className="field"
          data-autofocus
          autoFocus
          label={text.name}
          placeholder={text.namePlaceholder}
          value={draft.name}
          maxLength={100}
          onChange={(event) => change({ name: event.currentTarget.value })}
          required
        />
        <div>
          <div className="label">{text.lifetime}</div>
          <SegmentedControl
            aria-label={text.lifetime}
            data={LIFETIMES.map((value) => ({ value, label: text.lifetimes[value] }))}
            value={draft.lifetime}
            onChange={(lifetime) => change({ lifetime })}
          />
        </div>
      </div>
      <Checkbox.Group
        label={text.columns.abilities}
        value={[...draft.abilities]}
        onChange={(abilities) => change({ abilities })}
      >
        <div className="checks">
          {ABILITIES.map((ability) => (
            <Checkbox
              key={ability}
              size="sm"
              value={ability}
              label={text.abilities[ability]}
              description={text.abilityText[ability]}
            />
          ))}
        </div>
      </Checkbox.Group>
      <Limits draft={draft} change={change} />
      <ProblemNotice error={create.error} />
      <div className="row">
        <Button type="submit" loading={create.isPending} disabled={!isValid}>
          {text.create}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
        {!isValid && <span className="dim">{text.incomplete}</span>}
      </div>
    </form>
  );
}

function Limits({ draft, change }: { readonly draft: KeyDraft; readonly change: Change }) {
  const client = usePeopleClient();
  const servers = useQuery({
    queryKey: ['game-servers', 'names'],
    queryFn: async ({ signal }) => (await client.listGameServers({}, { signal })).data,
  });
  const known = (servers.data ?? []).map(({ uuid, name }) => ({ value: uuid, label: name }));
  const seen =
    draft.servers.length === 0 ? known : known.filter(({ value }) => draft.servers.includes(value));
  return (
    <div className="form-row">
      {known.length > 0 && (
        <>
          <MultiSelect
            className="field"
            label={text.servers}
            placeholder={draft.servers.length === 0 ? text.allServers : ''}
            data={known}
            value={[...draft.servers]}
            onChange={(chosen) =>
              change({
                servers: chosen,
                managedServers: draft.managedServers.filter(
                  (uuid) => chosen.length === 0 || chosen.includes(uuid),
                ),
              })
            }
            searchable
            clearable
          />
          <MultiSelect
            className="field"
            label={text.managedServers}
            placeholder={draft.managedServers.length === 0 ? text.allSeen : ''}
            data={seen}
            value={[...draft.managedServers]}
            onChange={(managedServers) => change({ managedServers })}
            searchable
            clearable
          />
        </>
      )}
      <Networks
        label={text.prefixes}
        placeholder={text.allPrefixes}
        value={draft.prefixes}
        onChange={(prefixes) => change({ prefixes })}
      />
      <Networks
        label={text.sources}
        placeholder={text.anywhere}
        value={draft.sources}
        onChange={(sources) => change({ sources })}
      />
    </div>
  );
}

interface NetworksProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  onChange(value: string): void;
}

function Networks({ label, placeholder, value, onChange }: NetworksProps) {
  return (
    <Textarea
      className="field"
      label={label}
      placeholder={placeholder}
      rows={2}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={parseNetworks(value).mistake}
      spellCheck={false}
    />
  );
}
