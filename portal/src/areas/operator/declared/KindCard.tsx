import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { operatorDeclaredMessages as text } from '../../../messages/operator-declared.ts';
import { LossesBox } from '../fleet/LossesBox.tsx';
import { OwnerPill } from '../OwnerPill.tsx';
import { LIST_MS } from '../queries.ts';
import { type FormField, formFields } from './form-fields.ts';
import { ChangeForm, CreateForm } from './KindForm.tsx';
import { type DeclaredObject, type KindRow, nameOf } from './kinds.ts';
import { kindWords, labelOf } from './labels.ts';
import { operationsOf, type Place, placeOfObject } from './operations.ts';
import { factsOf } from './summary.ts';

interface Props {
  readonly row: KindRow;
  /** The path of the list: an organisation, or nothing. */
  readonly at: Place;
}

/** The objects of a kind: they are made, changed and removed here, but those of the fleet file. */
export function KindCard({ row, at }: Props) {
  const { kind } = row;
  const words = kindWords(kind);
  const [edited, setEdited] = useState<DeclaredObject | null>(null);
  const list = useQuery({
    queryKey: ['operator', 'declared-list', kind.name, ...Object.values(at)],
    queryFn: async ({ signal }) => (await operationsOf(row).list(at, signal)).data,
    refetchInterval: LIST_MS,
  });
  const fields = formFields(kind.schema, { ...row, omitted: Object.keys(placeOfObject(row, {})) });
  const keyOf = (object: DeclaredObject): string =>
    JSON.stringify([placeOfObject(row, object), object.owner]);
  return (
    <ListPanel
      title={words.title}
      lead={words.lead}
      isHeaded
      add={{
        label: words.add,
        form: (close) => (
          <CreateForm
            row={row}
            at={at}
            label={words.add}
            taken={(list.data ?? [])
              .filter(({ owner }) => owner === 'portal')
              .map((object) => String(Object.values(placeOfObject(row, object)).at(-1)))}
            onClose={close}
          />
        ),
      }}
      above={
        edited && (
          <ChangeForm
            key={keyOf(edited)}
            row={row}
            object={edited}
            onClose={() => setEdited(null)}
          />
        )
      }
      query={list}
      rows={list.data}
      empty={{ icon: row.icon, ...words.none }}
    >
      {(rows) => (
        <ul className="items">
          {rows.map((object) => (
            <Row
              key={keyOf(object)}
              row={row}
              fields={fields}
              object={object}
              removeText={words.removeText}
              onEdit={() => setEdited(object)}
            />
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

interface RowProps {
  readonly row: KindRow;
  readonly fields: readonly FormField[];
  readonly object: DeclaredObject;
  readonly removeText: string;
  onEdit(): void;
}

function Row({ row, fields, object, removeText, onEdit }: RowProps) {
  const name = nameOf(row, object);
  const facts = factsOf(fields, object).map(({ field, text: value }) =>
    text.fact(labelOf(row.kind.name, field.name), value),
  );
  const refusal = object.owner === 'fleet' ? text.ofFleet : null;
  return (
    <li>
      <div>
        <span className="strong wrap">{name}</span>
        <div className="dim wrap">{facts.join(text.and)}</div>
      </div>
      <div className="row-end">
        <OwnerPill owner={object.owner} />
        <RoleButton
          variant="default"
          size="compact-sm"
          aria-label={text.changeOf(name)}
          refusal={refusal}
          onClick={onEdit}
        >
          {text.change}
        </RoleButton>
        <ConfirmButton
          size="compact-sm"
          aria-label={text.removeOf(name)}
          refusal={refusal}
          title={text.removeTitle(name)}
          initial={{ allowsLosses: false }}
          question={(form, error) => (
            <>
              <div>{removeText}</div>
              <LossesBox form={form} error={error} />
            </>
          )}
          write={({ allowsLosses }) =>
            operationsOf(row).remove(placeOfObject(row, object), allowsLosses)
          }
        >
          {text.remove}
        </ConfirmButton>
      </div>
    </li>
  );
}
