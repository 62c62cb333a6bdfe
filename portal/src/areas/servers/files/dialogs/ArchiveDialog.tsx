import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { WriteDialog } from '../../../../components/forms/WriteDialog.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { joinPath, nameOf, nameRefusal, stemLength } from '../paths.ts';
import type { Browser } from '../use-browser.ts';
import { sayJob } from '../use-file-changes.ts';

const text = filesMessages.archive;
const FORMATS = ['zip', 'tar.gz', 'tar.zst', 'tar'] as const;

interface Props {
  readonly browser: Browser;
  onClose(): void;
}

/** Packs what is chosen into an archive beside it, as a job of the node. */
export function ArchiveDialog({ browser, onClose }: Props) {
  const { client } = useSession();
  const { uuid: slice, folder, entries, chosen } = browser;
  const [paths] = useState(() => chosen.map(({ path }) => path));
  const taken = new Set(entries.map(({ name }) => name));
  const nameFor = ({ name, format }: Draft): string => `${name}.${format}`;
  return (
    <WriteDialog<Draft, void>
      title={text.title(paths.length)}
      submit={text.submit}
      initial={{ name: nameAtFirst(paths, folder), format: 'zip' }}
      refusal={(draft) => {
        if (draft.name === '') return true;
        if (paths.length > MOST) return text.tooMany(MOST);
        return taken.has(nameFor(draft)) ? text.taken(nameFor(draft)) : nameRefusal(draft.name);
      }}
      write={async (draft) => {
        const to = joinPath(folder, nameFor(draft));
        const body = { paths: [...paths], to, format: draft.format };
        sayJob((await client.archiveFiles({ slice, body })).data);
      }}
      onClose={onClose}
    >
      {(form) => (
        <div className="form-row">
          <div className="field">
            <TextInput
              data-autofocus
              label={text.name}
              spellCheck={false}
              {...form.getInputProps('name')}
            />
          </div>
          <div className="field-s">
            <Select label={text.format} data={[...FORMATS]} {...form.getInputProps('format')} />
          </div>
        </div>
      )}
    </WriteDialog>
  );
}

/** Paths of one request. */
const MOST = 100;

interface Draft {
  readonly name: string;
  readonly format: (typeof FORMATS)[number];
}

function nameAtFirst(paths: readonly string[], folder: string): string {
  const name = nameOf(paths.length === 1 ? (paths[0] ?? '') : folder);
  return name === '' ? text.unnamed : name.slice(0, stemLength(name));
}
