import { Checkbox, MultiSelect, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ApiKeyCreated } from '@portcullis/client/index.ts';
import { type Fields, WriteForm } from '../../../components/forms/WriteForm.tsx';
import { apiKeyMessages as text } from '../../../messages/api-keys.ts';
import { usePeopleClient } from '../../../session/session.ts';
import {
  ABILITIES,
  bodyOf,
  EMPTY_DRAFT,
  type KeyDraft,
  LIFETIMES,
  parseNetworks,
} from './key-draft.ts';

interface Props {
  onClose(): void;
  onCreated(key: ApiKeyCreated['data']): void;
}

/** The rights of a key: on what, from where and how long. */
export function KeyForm({ onClose, onCreated }: Props) {
  const client = usePeopleClient();
  return (
    <WriteForm
      label={text.create}
      layout="panel"
      initial={EMPTY_DRAFT}
      refusal={({ name, abilities, prefixes, sources }) =>
        name.trim() === '' ||
        abilities.length === 0 ||
        [prefixes, sources].some((typed) => parseNetworks(typed).mistake !== null)
          ? text.incomplete
          : null
      }
      write={async (draft) => (await client.createKey({ body: bodyOf(draft, new Date()) })).data}
      pointers={{ '/managed_servers': 'managedServers' }}
      onDone={(key) => {
        onClose();
        onCreated(key);
      }}
      onCancel={onClose}
      submit={text.create}
    >
      {(form) => (
        <>
          <div className="form-row">
            <TextInput
              className="field"
              data-autofocus
              autoFocus
              label={text.name}
              placeholder={text.namePlaceholder}
              maxLength={100}
              required
              {...form.getInputProps('name')}
            />
            <div>
              <div className="label">{text.lifetime}</div>
              <SegmentedControl
                aria-label={text.lifetime}
                data={LIFETIMES.map((value) => ({ value, label: text.lifetimes[value] }))}
                {...form.getInputProps('lifetime', { withError: false })}
              />
            </div>
          </div>
          <Checkbox.Group label={text.columns.abilities} {...form.getInputProps('abilities')}>
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
          <Limits form={form} />
        </>
      )}
    </WriteForm>
  );
}

function Limits({ form }: { readonly form: Fields<KeyDraft> }) {
  const client = usePeopleClient();
  const names = useQuery({
    queryKey: ['game-servers', 'names'],
    queryFn: async ({ signal }) => (await client.listGameServers({}, { signal })).data,
  });
  const { servers, managedServers } = form.values;
  const known = (names.data ?? []).map(({ uuid, name }) => ({ value: uuid, label: name }));
  const isSeen = (uuid: string): boolean => servers.length === 0 || servers.includes(uuid);
  return (
    <div className="form-row">
      {known.length > 0 && (
        <>
          <MultiSelect
            className="field"
            label={text.servers}
            placeholder={servers.length === 0 ? text.allServers : ''}
            data={known}
            searchable
            clearable
            {...form.getInputProps('servers')}
            onChange={(chosen) =>
              form.setValues({
                servers: chosen,
                managedServers: managedServers.filter(
                  (uuid) => chosen.length === 0 || chosen.includes(uuid),
                ),
              })
            }
          />
          <MultiSelect
            className="field"
            label={text.managedServers}
            placeholder={managedServers.length === 0 ? text.allSeen : ''}
            data={known.filter(({ value }) => isSeen(value))}
            searchable
            clearable
            {...form.getInputProps('managedServers')}
          />
        </>
      )}
      <Networks form={form} field="prefixes" placeholder={text.allPrefixes} />
      <Networks form={form} field="sources" placeholder={text.anywhere} />
    </div>
  );
}

interface NetworksProps {
  readonly form: Fields<KeyDraft>;
  readonly field: 'prefixes' | 'sources';
  readonly placeholder: string;
}

function Networks({ form, field, placeholder }: NetworksProps) {
  const props = form.getInputProps(field);
  return (
    <Textarea
      className="field"
      label={text[field]}
      placeholder={placeholder}
      rows={2}
      spellCheck={false}
      {...props}
      error={parseNetworks(form.values[field]).mistake ?? props.error}
    />
  );
}
