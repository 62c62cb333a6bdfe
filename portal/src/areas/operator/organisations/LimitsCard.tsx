import { type LimitName, LIMITS } from '@portcullis/contract/schemas/declared/limits.ts';
import { Checkbox, NumberInput, TextInput } from '@mantine/core';
import { Card } from '../../../components/Card.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { type Organisation, useTag } from '../queries.ts';
import { FLAGS } from './organisation-draft.ts';

const text = operatorMessages.organisations;

const LIMIT_FIELDS = Object.entries(LIMITS) as readonly [LimitName, (typeof LIMITS)[LimitName]][];

/** Name, areas and limits; read-only where the fleet file owns them. */
export function LimitsCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, owner, etag, name, flags, limits } = organisation;
  const isReadOnly = owner === 'fleet';
  const bound = useTag(etag, { name, flags, limits });
  return (
    <Card title={text.limitsTitle} lead={text.limitsLead}>
      <WriteForm
        initial={{ name, flags, limits }}
        submit={isReadOnly ? null : text.save}
        saved={text.saved}
        refusal={(draft) => draft.name.trim() === ''}
        write={(body) => bound((how) => personClient.changeOrganisation({ slug, body }, how))}
      >
        {({ getInputProps, setFieldValue }) => (
          <>
            <TextInput
              label={text.columns.name}
              maxLength={200}
              readOnly={isReadOnly}
              required={!isReadOnly}
              {...getInputProps('name')}
            />
            <Checkbox.Group
              label={text.columns.areas}
              readOnly={isReadOnly}
              {...getInputProps('flags')}
            >
              <div className="checks">
                {FLAGS.map((flag) => (
                  <Checkbox
                    key={flag}
                    size="sm"
                    value={flag}
                    label={text.flags[flag]}
                    disabled={isReadOnly}
                  />
                ))}
              </div>
            </Checkbox.Group>
            <div className="limits">
              {LIMIT_FIELDS.map(([limit, { title, minimum, maximum }]) => (
                <NumberInput
                  key={limit}
                  label={title}
                  min={minimum}
                  max={maximum}
                  allowDecimal={false}
                  clampBehavior="strict"
                  thousandSeparator=","
                  readOnly={isReadOnly}
                  hideControls={isReadOnly}
                  {...getInputProps(`limits.${limit}`)}
                  onChange={(value) =>
                    setFieldValue(`limits.${limit}`, Math.max(minimum, Number(value)))
                  }
                />
              ))}
            </div>
          </>
        )}
      </WriteForm>
    </Card>
  );
}
