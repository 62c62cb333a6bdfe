import { SegmentedControl, TagsInput } from '@mantine/core';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { geoMessages } from '../../../messages/geo.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { SEPARATORS, splitTargets } from '../targets.ts';
import { TargetsInput } from '../TargetsInput.tsx';
import { CountryPicker } from './CountryPicker.tsx';
import { findGeoMistake, type GeoDraft, inputOfGeo } from './geo-draft.ts';

const text = geoMessages;

interface Props {
  /** Null: a new rule. */
  readonly id: number | null;
  readonly initial: GeoDraft;
  onClose(): void;
}

export function GeoEditor({ id, initial, onClose }: Props) {
  const client = usePeopleClient();
  return (
    <WriteForm
      label={text.editTitle}
      layout="panel"
      initial={initial}
      refusal={findGeoMistake}
      write={(draft) => {
        const body = inputOfGeo(draft);
        if (id === null) return client.createGeoRule({ body });
        return client.saveGeoRule({ geo_rule: id, body });
      }}
      say={({ data }) => ({
        text: text.saved,
        generation: data.generation,
        undo: () =>
          id === null
            ? client.deleteGeoRule({ geo_rule: data.id })
            : client.saveGeoRule({ geo_rule: id, body: inputOfGeo(initial) }),
      })}
      onDone={onClose}
      onCancel={onClose}
      submit={id === null ? text.create : text.save}
    >
      {(form) => (
        <>
          <div className="row">
            <SegmentedControl
              aria-label={text.action}
              data={[
                { value: 'deny', label: text.actions.deny },
                { value: 'only', label: text.actions.only },
              ]}
              {...form.getInputProps('action', { withError: false })}
            />
            <span className="dim">{text.what[form.values.action]}</span>
          </div>
          <CountryPicker
            chosen={form.values.countries}
            action={form.values.action}
            onChange={(countries) => form.setFieldValue('countries', countries)}
          />
          <div className="form-row">
            <TagsInput
              className="field"
              size="sm"
              label={text.asns}
              placeholder={text.asnsPlaceholder}
              splitChars={SEPARATORS}
              acceptValueOnBlur
              {...form.getInputProps('asns')}
              onChange={(asns) => form.setFieldValue('asns', splitTargets(asns))}
            />
            <TargetsInput
              className="field"
              label={text.targets}
              {...form.getInputProps('targets')}
            />
          </div>
        </>
      )}
    </WriteForm>
  );
}
