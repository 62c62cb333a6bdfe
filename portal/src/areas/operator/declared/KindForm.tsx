import { pathNames } from '@portcullis/contract/schemas/declared/declared-kind.ts';
import { useState } from 'react';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { operatorDeclaredMessages as text } from '../../../messages/operator-declared.ts';
import { LossesBox } from '../fleet/LossesBox.tsx';
import { useDeclared } from '../queries.ts';
import {
  type Draft,
  draftOf,
  itemAt,
  missingIn,
  objectOf,
  patchOf,
  placeOf,
  textOf,
} from './form-draft.ts';
import { type FormField, formFields } from './form-fields.ts';
import { KindFields } from './KindFields.tsx';
import { type DeclaredObject, type KindRow, nameOf } from './kinds.ts';
import { labelOf } from './labels.ts';
import { operationsOf, type Place, placeOfObject } from './operations.ts';

interface CreateProps {
  readonly row: KindRow;
  /** The path of the list that it is made in. */
  readonly at: Place;
  /** The title of the button. */
  readonly label: string;
  /** Names of the objects that there are, as their paths have them. */
  readonly taken: readonly string[];
  onClose(): void;
}

/** Creates an object of a kind. */
export function CreateForm({ row, at, label, taken, onClose }: CreateProps) {
  const { kind } = row;
  const inPath = pathNames(kind.path);
  const fields = formFields(kind.schema, {
    ...row,
    omitted: [...(row.omitted ?? []), ...Object.keys(at), ...(kind.isNumbered ? ['id'] : [])],
  });
  const key = kind.isNumbered ? undefined : inPath.at(-1);
  return (
    <ObjectForm
      row={row}
      fields={fields}
      initial={draftOf(fields)}
      label={label}
      submit={label}
      isChange={false}
      refusal={(draft) => {
        const name = key === undefined ? '' : textOf(draft[key]).trim();
        return taken.includes(name) ? text.taken(name) : null;
      }}
      write={(draft, allowsLosses) => {
        const body = objectOf(fields, draft);
        if (key === undefined) return operationsOf(row).create({ at, body, allowsLosses });
        const { [key]: name, ...others } = body;
        return operationsOf(row).create({ at: { ...at, [key]: name }, body: others, allowsLosses });
      }}
      onClose={onClose}
    />
  );
}

interface ChangeProps {
  readonly row: KindRow;
  readonly object: DeclaredObject;
  onClose(): void;
}

/** Changes an object: what was read, and not what another has changed since. */
export function ChangeForm({ row, object, onClose }: ChangeProps) {
  const at = placeOfObject(row, object);
  const read = useDeclared([row.kind.name, ...Object.values(at)], (how) =>
    operationsOf(row).read(at, how),
  );
  return (
    <Loaded query={read}>
      {({ data, response }) => (
        <ChangeFields row={row} object={data} etag={response.etag} onClose={onClose} />
      )}
    </Loaded>
  );
}

function ChangeFields({
  row,
  object,
  etag,
  onClose,
}: ChangeProps & { readonly etag: string | null }) {
  const { kind } = row;
  const at = placeOfObject(row, object);
  const omitted = [...(row.omitted ?? []), ...Object.keys(at)];
  const fields = formFields(kind.schema, { ...row, omitted });
  // A refused write makes the page read again: the change stays bound to what the form showed first.
  const [first] = useState(() => ({ draft: draftOf(fields, object), etag }));
  const patch = (draft: Draft) => patchOf(fields, first.draft, draft);
  return (
    <ObjectForm
      row={row}
      fields={fields}
      initial={first.draft}
      label={text.changeOf(nameOf(row, object))}
      submit={text.save}
      isChange
      refusal={(draft) => (Object.keys(patch(draft)).length === 0 ? text.unchanged : null)}
      write={(draft, allowsLosses) =>
        operationsOf(row).change({ at, body: patch(draft), allowsLosses }, first.etag)
      }
      onClose={onClose}
    />
  );
}

interface FormProps {
  readonly row: KindRow;
  readonly fields: readonly FormField[];
  readonly initial: Draft;
  readonly label: string;
  readonly submit: string;
  readonly isChange: boolean;
  /** Why it cannot be sent, where no field is missing. */
  refusal(draft: Draft): string | null;
  write(draft: Draft, allowsLosses: boolean): Promise<unknown>;
  onClose(): void;
}

function ObjectForm({ row, fields, initial, label, submit, isChange, ...props }: FormProps) {
  // Not a value of the form, whose values are the fields of the object.
  const [allowsLosses, setAllowed] = useState(false);
  const kind = row.kind.name;
  return (
    <WriteForm<Draft, unknown>
      label={label}
      layout="panel"
      initial={initial}
      submit={submit}
      pointers={(pointer) => placeOf(fields, pointer).path}
      itemOf={(pointer, draft) => itemAt(fields, pointer, draft)}
      refusal={(draft) => {
        const missing = [...new Set(missingIn(fields, draft).map((path) => labelOf(kind, path)))];
        return missing.length > 0 ? text.missing(missing) : props.refusal(draft);
      }}
      write={(draft) => props.write(draft, allowsLosses)}
      onDone={props.onClose}
      onCancel={props.onClose}
    >
      {(form, error) => (
        <>
          <KindFields kind={kind} fields={fields} form={form} isChange={isChange} isFocused />
          <LossesBox
            error={error}
            form={{
              getInputProps: () => ({
                checked: allowsLosses,
                onChange: () => setAllowed(!allowsLosses),
              }),
            }}
          />
        </>
      )}
    </WriteForm>
  );
}
