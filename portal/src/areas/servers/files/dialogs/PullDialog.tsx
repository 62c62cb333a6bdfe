import { TextInput } from '@mantine/core';
import { WriteDialog } from '../../../../components/forms/WriteDialog.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { joinPath, nameOf, nameRefusal } from '../paths.ts';
import type { Browser } from '../use-browser.ts';
import { sayJob } from '../use-file-changes.ts';

const text = filesMessages.pull;

interface Props {
  readonly browser: Browser;
  onClose(): void;
}

/** Lets the node fetch a file from a web address, as a job. */
export function PullDialog({ browser, onClose }: Props) {
  const { client } = useSession();
  const { uuid: slice, folder, entries } = browser;
  const taken = new Set(entries.map(({ name }) => name));
  return (
    <WriteDialog
      title={text.title}
      submit={text.submit}
      initial={{ url: '', name: '' }}
      refusal={({ url, name }) => {
        if (url === '') return true;
        const named = name === '' ? nameIn(url) : name;
        return urlRefusal(url) ?? (taken.has(named) ? text.taken : nameRefusal(named));
      }}
      write={async ({ url, name }): Promise<void> => {
        const path = joinPath(folder, name === '' ? nameIn(url) : name);
        sayJob((await client.pullFile({ slice, body: { url, path } })).data);
      }}
      onClose={onClose}
    >
      {(form) => (
        <>
          <TextInput
            data-autofocus
            label={text.url}
            description={text.urlText}
            type="url"
            placeholder="https://example.net/map.zip"
            {...form.getInputProps('url')}
          />
          <TextInput
            label={text.name}
            description={text.nameText}
            placeholder={nameIn(form.values.url)}
            spellCheck={false}
            {...form.getInputProps('name')}
          />
        </>
      )}
    </WriteDialog>
  );
}

function urlRefusal(url: string): string | null {
  return /^https?:\/\/[^/]/i.test(url) && URL.canParse(url) ? null : text.noUrl;
}

/** The last part of the path of an address, as a file would be called. */
function nameIn(url: string): string {
  if (!URL.canParse(url)) return '';
  const last = nameOf(new URL(url).pathname.replace(/\/+$/, ''));
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
