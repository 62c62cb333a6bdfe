import { Checkbox, TextInput } from '@mantine/core';
import type { DeclaredLibraryEgg } from '@portcullis/client/index.ts';
import { useState } from 'react';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { libraryMessages as text } from '../../messages/library.ts';
import { personClient } from '../../session/session.ts';
import { OwnEgg, type OwnEggRead } from '../servers/form/OwnEgg.tsx';
import { EggChanges } from './EggChanges.tsx';
import { nameFrom } from './name-from.ts';

interface Props {
  /** The egg that is updated; null: a new one. */
  readonly before: DeclaredLibraryEgg | null;
  /** Names that the library has. */
  readonly taken: readonly string[];
  onClose(): void;
}

interface Draft {
  readonly name: string;
  readonly offered: boolean;
  /** Servers that get the new egg. */
  readonly servers: string[];
}

interface Read {
  readonly egg: OwnEggRead;
  readonly source: string | null;
}

/** Adds an egg by file or URL, or updates one after it has shown what changes. */
export function EggDialog({ before, taken, onClose }: Props) {
  const [read, setRead] = useState<Read | null>(null);
  const isNew = before === null;
  return (
    <WriteDialog<Draft, unknown>
      title={isNew ? text.add.title : text.update.title(before.name)}
      size="lg"
      initial={{ name: before?.name ?? '', offered: before?.offered ?? true, servers: [] }}
      submit={isNew ? text.add.submit : text.update.submit}
      refusal={({ name }) => {
        if (read === null || name.trim() === '') return true;
        return isNew && taken.includes(name.trim()) ? text.add.taken : null;
      }}
      write={(draft) => take(draft, read, isNew)}
      onClose={onClose}
    >
      {(form) => (
        <div className="stack">
          <OwnEgg
            read={read?.egg ?? null}
            source={before?.source ?? ''}
            {...(before !== null && { replaces: before.name })}
            onRead={(egg, source) => {
              setRead({ egg, source });
              if (isNew && form.values.name === '') {
                form.setFieldValue('name', nameFrom(egg.egg.title));
              }
            }}
          />
          {isNew && read !== null && (
            <TextInput
              label={text.add.name}
              description={text.add.nameText}
              maxLength={63}
              required
              {...form.getInputProps('name')}
            />
          )}
          {read?.egg.change && (
            <>
              <EggChanges fields={read.egg.change.fields} />
              {read.egg.change.servers.length > 0 && (
                <Checkbox.Group label={text.update.servers} {...form.getInputProps('servers')}>
                  <div className="checks">
                    {read.egg.change.servers.map(({ uuid, name, organisation, current }) => (
                      <Checkbox
                        key={uuid}
                        size="sm"
                        value={uuid}
                        disabled={current}
                        label={`${name} (${organisation})${current ? `, ${text.update.current}` : ''}`}
                      />
                    ))}
                  </div>
                </Checkbox.Group>
              )}
            </>
          )}
          {isNew && read !== null && (
            <Checkbox label={text.offer} {...form.getInputProps('offered', { type: 'checkbox' })} />
          )}
        </div>
      )}
    </WriteDialog>
  );
}

async function take(draft: Draft, read: Read | null, isNew: boolean): Promise<void> {
  if (read === null) return;
  const { document } = read.egg;
  const name = draft.name.trim();
  const body = { document, source: read.source, offered: draft.offered };
  await personClient.saveLibraryEgg({ name, body }, isNew ? { ifNoneMatch: '*' } : {});
  // Null gives the default: the egg that has the name now.
  for (const uuid of draft.servers) {
    await personClient.changeServer({ uuid, body: { egg_digest: null } });
  }
}
