import { ActionIcon, Button, Textarea, TextInput } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import type { Fields } from '../../../components/forms/WriteForm.tsx';
import { operatorDeclaredMessages as text } from '../../../messages/operator-declared.ts';
import { listOf } from '../fleet/list-of.ts';
import { type Draft, draftOf, itemsOf } from './form-draft.ts';
import type { FormField, ItemsField } from './form-fields.ts';

export type DraftForm = Fields<Draft>;

interface Props {
  readonly field: ItemsField;
  readonly form: DraftForm;
  readonly path: string;
  readonly label: string;
  readonly help: string | undefined;
  /** The fields of an item, whose names begin with `at`. */
  children(at: string, isAdded: boolean): ReactNode;
}

/** The number of items that have fields on the page at once: a list may have thousands. */
const WINDOW = 20;

/** A list of objects, each with its fields. */
export function ItemsList({ field, form, path, label, help, children }: Props) {
  const { error } = form.getInputProps(path);
  const items = itemsIn(form.values, path);
  const [typed, setTyped] = useState('');
  const [most, setMost] = useState(WINDOW);
  const [added, setAdded] = useState<number | null>(null);
  const addButton = useRef<HTMLButtonElement>(null);
  const found = items.flatMap((item, index) => (isFound(item, typed) ? [index] : []));
  const shown = found.slice(0, most);
  const add = (more: readonly Draft[]): void => {
    // At the beginning of a list that is not shown whole, so that they are seen.
    const isWhole = items.length < WINDOW && typed === '';
    setTyped('');
    form.setFieldValue(path, isWhole ? [...items, ...more] : [...more, ...items]);
    setAdded(isWhole ? items.length : 0);
  };
  const single = singleField(field.fields);
  return (
    <fieldset className="plain field-all">
      <legend>{label}</legend>
      <div className="stack">
        {help !== undefined && <div className="hint">{help}</div>}
        {items.length > WINDOW && (
          <TextInput
            label={text.findItem(label)}
            value={typed}
            onChange={({ currentTarget: { value } }) => setTyped(value)}
          />
        )}
        {items.length === 0 && <div className="dim">{text.noItems}</div>}
        <ul className="form-items">
          {shown.map((index) => (
            <li key={index} aria-label={text.itemOf(label, index + 1)}>
              {children(`${path}.${index}.`, index === added)}
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={text.removeItem(label, index + 1)}
                onClick={() => {
                  setAdded(null);
                  form.setFieldValue(path, items.toSpliced(index, 1));
                  addButton.current?.focus();
                }}
              >
                <X size={15} />
              </ActionIcon>
            </li>
          ))}
        </ul>
        {found.length > most && (
          <Button variant="default" size="compact-sm" onClick={() => setMost(most + WINDOW)}>
            {text.more(found.length - most)}
          </Button>
        )}
        {error !== undefined && error !== null && <div className="hint bad">{error}</div>}
        <div className="row">
          <Button
            ref={addButton}
            variant="default"
            size="compact-sm"
            leftSection={<Plus size={14} aria-hidden="true" />}
            onClick={() => add([draftOf(field.fields)])}
          >
            {text.addItem(label)}
          </Button>
        </div>
        {single !== null && (
          <ManyItems
            label={label}
            onAdd={(words) => add(words.map((word) => draftOf(field.fields, { [single]: word })))}
          />
        )}
      </div>
    </fieldset>
  );
}

interface ManyProps {
  readonly label: string;
  onAdd(words: readonly string[]): void;
}

/** Adds an item for each word of a text that may be pasted. */
function ManyItems({ label, onAdd }: ManyProps) {
  const [typed, setTyped] = useState('');
  const words = listOf(typed);
  return (
    <div className="row">
      <Textarea
        className="grow-text"
        label={text.addItems(label)}
        description={text.list}
        autosize
        maxRows={6}
        spellCheck={false}
        value={typed}
        onChange={({ currentTarget: { value } }) => setTyped(value)}
      />
      <Button
        variant="default"
        size="compact-sm"
        disabled={words.length === 0}
        onClick={() => {
          onAdd(words);
          setTyped('');
        }}
      >
        {text.addThese}
      </Button>
    </div>
  );
}

/** The field of items that have one required field only, a text without spaces. */
function singleField(fields: readonly FormField[]): string | null {
  const [first, ...others] = fields.filter(({ isRequired }) => isRequired);
  return first?.kind === 'text' && others.length === 0 ? first.name : null;
}

function itemsIn(values: Draft, path: string): readonly Draft[] {
  const found = path.split('.').reduce<unknown>((part, step) => Object(part)[step], values);
  return itemsOf(found) as readonly Draft[];
}

function isFound(item: Draft, typed: string): boolean {
  const wanted = typed.trim().toLowerCase();
  return wanted === '' || JSON.stringify(item).toLowerCase().includes(wanted);
}
