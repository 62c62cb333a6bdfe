import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { messages } from '../../messages/index.ts';
import { type Fields, type FormProps, type FormValues, WriteForm } from './WriteForm.tsx';

export type WriteDialogProps<Values, Result> = Omit<
  FormProps<Values, Result>,
  'initial' | 'children'
> & {
  readonly title: string;
  readonly size?: 'lg';
  /** Absent: nothing to fill in, so the dialog only explains and asks. */
  readonly initial?: Values;
  /** Marks a write: what it does cannot be taken back: the button is red. */
  readonly isFinal?: boolean;
  readonly children: ReactNode | ((form: Fields<Values>, error: Error | null) => ReactNode);
  onClose(): void;
};

/** A `WriteForm` in a dialog, which closes once it is written; its button is a verb: `Revoke`, not `OK`. */
export function WriteDialog<Values extends FormValues, Result>({
  title,
  size,
  initial = {} as Values,
  isFinal = false,
  children,
  onClose,
  ...form
}: WriteDialogProps<Values, Result>) {
  const isQuestion = typeof children !== 'function';
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      {...(size !== undefined && { size })}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <WriteForm
        layout="dialog"
        {...form}
        initial={initial}
        submitProps={{
          ...(isFinal && { color: 'red' }),
          ...(isQuestion && { 'data-autofocus': true }),
          ...form.submitProps,
        }}
        onDone={(result, values) => {
          form.onDone?.(result, values);
          onClose();
        }}
        onCancel={onClose}
      >
        {typeof children === 'function' ? children : () => <div>{children}</div>}
      </WriteForm>
    </Modal>
  );
}
