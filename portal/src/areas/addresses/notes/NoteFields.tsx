import { TagsInput, Textarea } from '@mantine/core';
import type { RuleNote } from '@portcullis/client/index.ts';
import { messages } from '../../../messages/index.ts';

const text = messages.notes;
const NOTE_LENGTH = 2000;
const TAG_LENGTH = 50;
const MAX_TAGS = 20;

interface Props {
  readonly value: RuleNote;
  /** Tags that other rules have. */
  readonly known: readonly string[];
  onChange(value: RuleNote): void;
}

export function NoteFields({ value, known, onChange }: Props) {
  const tooLong = value.tags.some((tag) => tag.length > TAG_LENGTH);
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
        value={value.note ?? ''}
        onChange={(event) => onChange({ ...value, note: event.currentTarget.value })}
      />
      <TagsInput
        className="field"
        size="sm"
        label={text.tags}
        description={text.tagsHint}
        data={[...known]}
        maxTags={MAX_TAGS}
        acceptValueOnBlur
        error={tooLong && text.tagTooLong}
        value={[...value.tags]}
        onChange={(tags) => onChange({ ...value, tags })}
      />
    </div>
  );
}
