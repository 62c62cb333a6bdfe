import { Textarea, TextInput } from '@mantine/core';
import type { GroupInput } from '@portcullis/client/index.ts';
import { StickyNote } from 'lucide-react';
import { useState } from 'react';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { localOf } from '../../format.ts';
import { groupMarksMessages as text } from '../../messages/group-marks.ts';
import { messages } from '../../messages/index.ts';
import { MarksShown } from '../addresses/notes/MarksShown.tsx';

type Marks = Pick<GroupInput['rules'][number], 'ref' | 'expires_at' | 'note'>;

interface Props {
  /** The rule or filter, for a person. */
  readonly name: string;
  readonly marks: Marks;
  readonly isLocked: boolean;
  onChange(marks: Required<Marks>): void;
}

/** The name, the end and the note of a rule or filter of a group, and the button that edits them. */
export function MarksCell({ name, marks, isLocked, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <span className="note" title={marks.note ?? undefined}>
      {!isLocked && (
        <RoleIcon label={text.edit(name)} onClick={() => setOpen(true)}>
          <StickyNote size={15} />
        </RoleIcon>
      )}
      <MarksShown marks={marks} />
      <span className="dim">{marks.note}</span>
      {isOpen && (
        <WriteDialog
          title={text.title}
          isLocal
          initial={draftOf(marks)}
          submit={text.save}
          refusal={({ ends }) => ends !== '' && !(Date.parse(ends) > Date.now())}
          write={async ({ ref, ends, note }) =>
            onChange({
              ref: ref.trim() || null,
              expires_at: ends === '' ? null : new Date(ends).toISOString(),
              note: note || null,
            })
          }
          onClose={() => setOpen(false)}
        >
          {(form) => (
            <>
              <span className="dim">{name}</span>
              <TextInput
                label={text.ref}
                description={text.refHint}
                maxLength={100}
                {...form.getInputProps('ref')}
              />
              <TextInput
                type="datetime-local"
                label={text.ends}
                description={text.endsHint}
                {...form.getInputProps('ends')}
              />
              <Textarea
                label={messages.notes.note}
                description={messages.notes.noteHint}
                autosize
                minRows={1}
                maxRows={8}
                maxLength={2000}
                {...form.getInputProps('note')}
              />
            </>
          )}
        </WriteDialog>
      )}
    </span>
  );
}

function draftOf({ ref, expires_at: ends, note }: Marks) {
  return { ref: ref ?? '', ends: ends ? localOf(ends) : '', note: note ?? '' };
}
