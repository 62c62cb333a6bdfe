import { TagsInput, Textarea } from '@mantine/core';
import type { RuleNote } from '@portcullis/client/index.ts';
import type { Fields } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';

const text = messages.notes;
const NOTE_LENGTH = 2000;
const TAG_LENGTH = 50;
const MAX_TAGS = 20;

/** A note as it is typed. */
export interface NoteDraft {
  readonly note: string;
  readonly tags: readonly string[];
}

export const EMPTY_NOTE: NoteDraft = { note: '', tags: [] };

export function noteOf({ note, tags }: NoteDraft): RuleNote {
  return { note: note || null, tags };
}

interface Props {
  /** Tags that other rules have. */
  readonly known: readonly string[];
  /** A form with a note, among others. */
  readonly form: {
    readonly values: NoteDraft;
    getInputProps(field: 'note' | 'tags'): ReturnType<Fields<NoteDraft>['getInputProps']>;
  };
}

export function NoteFields({ known, form }: Props) {
  const tags = form.getInputProps('tags');
  const tooLong = form.values.tags.some((tag) => tag.length > TAG_LENGTH);
  return (
    <div className="form-row">
      <Textarea
        className="field"
        label={text.note}
        description={text.noteHint}
        autosize
        minRows={1}
        maxRows={8}
        maxLength={NOTE_LENGTH}
        {...form.getInputProps('note')}
      />
      <TagsInput
        className="field"
        size="sm"
        label={text.tags}
        description={text.tagsHint}
        data={[...known]}
        maxTags={MAX_TAGS}
        acceptValueOnBlur
        {...tags}
        error={tooLong ? text.tagTooLong : tags.error}
      />
    </div>
  );
}
