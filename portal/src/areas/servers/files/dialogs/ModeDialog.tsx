import { Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Fields } from '../../../../components/forms/WriteForm.tsx';
import { WriteDialog } from '../../../../components/forms/WriteDialog.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { nameOf } from '../paths.ts';
import type { Browser } from '../use-browser.ts';
import { inParts, sayFailed } from '../use-file-changes.ts';
import {
  bitOf,
  checkBit,
  CLASSES,
  isOctal,
  type ModeChange,
  modeChanges,
  type ModeClass,
  type ModeDraft,
  modeDraft,
  RIGHTS,
  typeOctal,
} from './mode.ts';

const text = filesMessages.mode;

type Mode = Pick<ModeChange, 'path' | 'mode'>;

interface Props {
  readonly browser: Browser;
  onClose(): void;
}

/** Sets the permissions of what is chosen; what its entries differ in is kept until it is changed here. */
export function ModeDialog({ browser, onClose }: Props) {
  const { client } = useSession();
  const slice = browser.uuid;
  const [entries] = useState(() => browser.chosen);
  const send = (changes: readonly Mode[]) =>
    inParts(changes, async (part) => {
      const files = part.map(({ path, mode }) => ({ path, mode }));
      return (await client.setFileModes({ slice, body: { files } })).data;
    });
  return (
    <WriteDialog<ModeDraft, readonly Mode[]>
      title={text.title(entries.map(({ name }) => name))}
      submit={text.submit}
      initial={modeDraft(entries)}
      refusal={(draft) => {
        if (draft.kept === 0 && !isOctal(draft.octal)) return text.digits;
        return modeChanges(entries, draft).length === 0;
      }}
      write={async (draft) => {
        const changes = modeChanges(entries, draft);
        const { done, failed } = await send(changes);
        sayFailed(failed, changes.length);
        return changes
          .filter(({ path }) => done.includes(path))
          .map(({ path, before }) => ({ path, mode: before }));
      }}
      say={(before) =>
        before.length === 0
          ? null
          : {
              text: text.changed(before.map(({ path }) => nameOf(path))),
              undo: async () => {
                const { failed } = await send(before);
                sayFailed(failed, before.length);
              },
            }
      }
      onClose={onClose}
    >
      {(form) => <ModeFields form={form} hasFolder={entries.some(isFolder)} />}
    </WriteDialog>
  );
}

function isFolder({ type }: { readonly type: string }): boolean {
  return type === 'folder';
}

interface FieldsProps {
  readonly form: Fields<ModeDraft>;
  readonly hasFolder: boolean;
}

function ModeFields({ form, hasFolder }: FieldsProps) {
  const { values, setValues } = form;
  return (
    <div className="stack">
      <TextInput
        data-autofocus
        className="field-s"
        label={text.octal}
        placeholder={text.mixed}
        description={text.usual}
        inputMode="numeric"
        autoComplete="off"
        spellCheck={false}
        maxLength={4}
        value={values.octal}
        onChange={(event) => setValues(typeOctal(values, event.currentTarget.value.trim()))}
      />
      <table className="mode-table">
        <thead>
          <tr>
            <td />
            {RIGHTS.map((right) => (
              <th key={right} scope="col">
                {text.rights[right]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {CLASSES.map((group) => (
            <ClassRow key={group} group={group} form={form} />
          ))}
        </tbody>
      </table>
      {values.kept !== 0 && <p className="flat dim">{text.kept}</p>}
      {hasFolder && <p className="flat dim">{text.folders}</p>}
    </div>
  );
}

function ClassRow({ group, form }: Pick<FieldsProps, 'form'> & { readonly group: ModeClass }) {
  const { values, setValues } = form;
  return (
    <tr>
      <th scope="row">{text.classes[group]}</th>
      {RIGHTS.map((right) => {
        const bit = bitOf(group, right);
        return (
          <td key={right}>
            <Checkbox
              aria-label={text.box(text.classes[group], text.rights[right])}
              checked={(values.bits & bit) !== 0}
              indeterminate={(values.kept & bit) !== 0}
              onChange={(event) => setValues(checkBit(values, bit, event.currentTarget.checked))}
            />
          </td>
        );
      })}
    </tr>
  );
}
