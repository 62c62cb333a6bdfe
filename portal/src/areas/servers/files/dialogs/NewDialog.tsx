import { TextInput } from '@mantine/core';
import { WriteDialog } from '../../../../components/forms/WriteDialog.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { joinPath, nameRefusal } from '../paths.ts';
import type { Browser } from '../use-browser.ts';

const text = filesMessages.newDialog;

interface Props {
  readonly browser: Browser;
  readonly kind: 'file' | 'folder';
  onClose(): void;
}

/** Makes a folder, or an empty file that is opened then. */
export function NewDialog({ browser, kind, onClose }: Props) {
  const { client } = useSession();
  const { uuid: slice, folder, entries } = browser;
  const taken = new Set(entries.map(({ name }) => name));
  const refusal = (name: string): string | boolean | null => {
    if (name === '') return true;
    return taken.has(name) ? text.taken : nameRefusal(name);
  };
  return (
    <WriteDialog
      title={text.title[kind]}
      submit={text.submit}
      initial={{ name: '' }}
      refusal={({ name }) => refusal(name)}
      write={async ({ name }): Promise<void> => {
        const path = joinPath(folder, name);
        if (kind === 'folder') await client.makeFolder({ slice, body: { path } });
        else {
          const body = { content: '' };
          await client.writeFile({ slice, query: { path }, body }, { ifNoneMatch: '*' });
        }
      }}
      onDone={(_, { name }) => {
        const path = joinPath(folder, name);
        browser.select({ chosen: new Set([path]), active: path, anchor: path });
        if (kind === 'file') browser.openFile(path);
      }}
      onClose={onClose}
    >
      {(form) => (
        <TextInput
          data-autofocus
          label={text.name}
          placeholder={text.placeholder[kind]}
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('name')}
        />
      )}
    </WriteDialog>
  );
}
