import { Button, FileButton, TextInput } from '@mantine/core';
import type { ReadEgg } from '@portcullis/client/index.ts';
import { useState } from 'react';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { Notice } from '../../../components/Notice.tsx';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { personClient } from '../../../session/session.ts';

export type OwnEggRead = ReadEgg['data'];

interface Props {
  readonly read: OwnEggRead | null;
  /** The egg of the library that it is compared with. */
  readonly replaces?: string;
  /** The URL that is proposed. */
  readonly source?: string;
  /** `source`: the URL that it came from; null: a file. */
  onRead(egg: OwnEggRead, source: string | null): void;
}

/** An egg that somebody brings: a file of this computer, or a URL. */
export function OwnEgg({ read, replaces, source = '', onRead }: Props) {
  const [url, setUrl] = useState(source);
  const readIt = useWrite(
    async (from: { readonly url: string } | { readonly file: File }) => {
      const given = 'url' in from ? { url: from.url.trim() } : { text: await textOf(from.file) };
      const body = { ...given, ...(replaces !== undefined && { name: replaces }) };
      return (await personClient.readEgg({ body })).data;
    },
    {
      isLocal: true,
      onDone: (egg, from) => onRead(egg, 'url' in from ? from.url.trim() : null),
    },
  );
  return (
    <div className="stack">
      <div className="form-row">
        <TextInput
          className="field"
          label={text.ownUrl}
          placeholder={text.urlPlaceholder}
          value={url}
          maxLength={2_000}
          inputMode="url"
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <Button
          className="beside-input"
          variant="default"
          disabled={url.trim() === ''}
          loading={readIt.isPending}
          onClick={() => readIt.mutate({ url })}
        >
          {text.read}
        </Button>
        <FileButton
          accept=".json,.yaml,.yml"
          onChange={(file) => file !== null && readIt.mutate({ file })}
        >
          {(props) => (
            <Button className="beside-input" variant="default" {...props}>
              {text.chooseFile}
            </Button>
          )}
        </FileButton>
      </div>
      <ProblemNotice error={readIt.error} />
      {read !== null && readIt.error === null && (
        <Notice kind="ok">
          <p>{text.readOf(read.egg.title)}</p>
          {read.notes.length > 0 && (
            <details>
              <summary>{text.notes(read.notes.length)}</summary>
              {read.notes.map((note) => (
                <p key={note} className="dim">
                  {note}
                </p>
              ))}
            </details>
          )}
        </Notice>
      )}
    </div>
  );
}

async function textOf(file: File): Promise<string> {
  try {
    return await file.text();
  } catch (cause) {
    throw new Error(text.fileUnreadable, { cause });
  }
}
