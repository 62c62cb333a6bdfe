import { TextInput, type TextInputProps } from '@mantine/core';
import { useId } from 'react';

/** The meaning of the typed text, or why it has none. */
export interface Explained {
  readonly isValid: boolean;
  readonly text: string;
}

interface Props extends TextInputProps {
  /** Null: there is nothing to say. */
  readonly explained: Explained | null;
}

/** A text field that says below it what was typed means, before anything is sent. */
export function ExplainedField({ explained, ...input }: Props) {
  const id = useId();
  return (
    <div className="field">
      <TextInput {...input} aria-describedby={id} />
      <div id={id} className={explained?.isValid === false ? 'hint bad' : 'hint'} role="status">
        {explained?.text}
      </div>
    </div>
  );
}
