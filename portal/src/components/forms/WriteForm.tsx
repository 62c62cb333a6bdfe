import { Button, type ButtonProps } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { type ReactNode, type SubmitEvent, useRef } from 'react';
import { messages } from '../../messages/index.ts';
import { Notice } from '../Notice.tsx';
import { errorsByField, fieldsByPointer, type Pointers } from './field-errors.ts';
import { ProblemNotice } from './ProblemNotice.tsx';
import { type AfterWrite, useWrite } from './use-write.ts';

/** The values that `useForm` takes: an object. */
export type FormValues = NonNullable<NonNullable<Parameters<typeof useForm>[0]>['initialValues']>;

/** The values of a form, and `getInputProps` for each of its fields. */
export type Fields<Values> = UseFormReturnType<Values>;

export interface FormProps<Values, Result> extends AfterWrite<Values, Result> {
  readonly initial: Values;
  /** The text of the button; null: the form is read-only. */
  readonly submit: string | ((values: Values) => string) | null;
  readonly submitProps?: ButtonProps & { readonly 'data-autofocus'?: boolean };
  /** The sentence that the form says once it is written, until a value changes. */
  readonly saved?: string;
  /** The fields are as at first once it is written. */
  readonly resetsOnDone?: boolean;
  /** The field that a pointer of the service means, where its name differs: `{ '/rules/0/source_ip': 'source' }`. */
  readonly pointers?: Pointers;
  /** The element of a list that a pointer means, where one field has the whole list. */
  itemOf?(pointer: string, values: Values): string | null;
  write(values: Values): Promise<Result>;
  /** Why it cannot be sent now: a sentence to show, or true where the fields show it. */
  refusal?(values: Values): string | boolean | null;
  /** The fields, each with `form.getInputProps(name)`; `error` is that of the last attempt. */
  children(form: Fields<Values>, error: Error | null): ReactNode;
}

interface Props<Values, Result> extends FormProps<Values, Result> {
  /** The accessible name of the form. */
  readonly label?: string;
  /** `panel`: opened inside a card. `dialog`: the buttons stand at the end. */
  readonly layout?: 'plain' | 'panel' | 'dialog';
  /** The note that stands beside the buttons. */
  readonly note?: string;
  onCancel?(): void;
}

/**
 * A form that writes: its values, whether it can be sent and why not, that it is being sent, and what the service
 * refused. A refusal with a pointer stands below its field, all others above the buttons.
 */
export function WriteForm<Values extends FormValues, Result>(props: Props<Values, Result>) {
  const { label, layout = 'plain', submit, note, saved, pointers = {}, onCancel } = props;
  const shown = useRef(new Set<string>());
  const written = useRef<readonly [previous: Values, now: Values]>([props.initial, props.initial]);
  const write = useWrite(props.write, props);
  const form = useForm<Values>({
    initialValues: props.initial,
    onValuesChange() {
      if (write.isSuccess) write.reset();
    },
  });
  const fields: Fields<Values> = {
    ...form,
    getInputProps(path, options) {
      if (options?.withError !== false) shown.current.add(String(path));
      return form.getInputProps(path, options);
    },
  };
  const fieldOf = fieldsByPointer(pointers, shown.current);
  const refusal = props.refusal?.(form.values) ?? null;
  const isRefused = refusal !== null && refusal !== false;
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isRefused || submit === null || write.isPending) return;
    form.clearErrors();
    mutate(form.values);
  };
  const mutate = (values: Values): void =>
    write.mutate(values, {
      onSuccess() {
        written.current = [written.current[1], values];
        if (props.resetsOnDone === true) form.reset();
      },
      onError: (error) =>
        form.setErrors(
          errorsByField(error, fieldOf, (pointer) => props.itemOf?.(pointer, values) ?? null),
        ),
    });
  const takeBack = (): void => {
    const [previous] = written.current;
    form.setValues(previous);
    mutate(previous);
  };
  const isDialog = layout === 'dialog';
  const buttons = [
    <Button
      key="submit"
      type="submit"
      {...props.submitProps}
      loading={write.isPending}
      disabled={isRefused}
    >
      {typeof submit === 'function' ? submit(form.values) : submit}
    </Button>,
    onCancel !== undefined && (
      <Button
        key="cancel"
        {...(isDialog ? { variant: 'default' } : { variant: 'subtle', color: 'gray' })}
        onClick={onCancel}
      >
        {messages.cancel}
      </Button>
    ),
  ];
  const beside = typeof refusal === 'string' ? refusal : note;
  return (
    <form
      className={layout === 'panel' ? 'panel stack' : 'stack'}
      aria-label={label}
      onSubmit={send}
    >
      {props.children(fields, write.error)}
      <ProblemNotice error={write.error} isElsewhere={(pointer) => fieldOf(pointer) !== null} />
      {saved !== undefined && write.isSuccess && (
        <Saved message={saved} onUndo={props.resetsOnDone === true ? null : takeBack} />
      )}
      {submit !== null && (
        <div className="row">
          {isDialog ? <div className="row-end">{buttons.toReversed()}</div> : buttons}
          {beside !== undefined && <span className="dim">{beside}</span>}
        </div>
      )}
    </form>
  );
}

interface SavedProps {
  readonly message: string;
  /** Null: what was written cannot be read again, such as a password. */
  readonly onUndo: (() => void) | null;
}

function Saved({ message, onUndo }: SavedProps) {
  return (
    <Notice kind="ok">
      <span className="row">
        {message}
        {onUndo !== null && (
          <Button size="compact-xs" variant="default" onClick={onUndo}>
            {messages.undo.button}
          </Button>
        )}
      </span>
    </Notice>
  );
}
