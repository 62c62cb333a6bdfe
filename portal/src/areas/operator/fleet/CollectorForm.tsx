import { Textarea, TextInput } from '@mantine/core';
import type { DeclaredCollector } from '@portcullis/client/index.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { DeclaredForm, type HostFormProps } from './DeclaredForm.tsx';
import { parseExporters, showExporters } from './exporter-lines.ts';

const text = operatorMessages.fleet;

/** Changes a collector. */
export default function CollectorForm({ name, onClose }: HostFormProps) {
  return (
    <DeclaredForm
      kind="collector"
      name={name}
      onClose={onClose}
      read={(signal) => personClient.readCollector({ name }, { signal })}
      draftOf={draftOf}
      lacks={({ exporters }) => exporters.trim() === ''}
      change={({ listen, site, exporters }, { headers, ...call }) => {
        const body = {
          listen: listen.trim(),
          site: site.trim() === '' ? null : site.trim(),
          exporters: parseExporters(exporters),
        };
        return personClient.changeCollector({ ...call, body }, headers);
      }}
    >
      {({ getInputProps }) => (
        <>
          <div className="form-row">
            <TextInput className="field" label={text.listen} {...getInputProps('listen')} />
            <TextInput className="field-s" label={text.site} {...getInputProps('site')} />
          </div>
          <Textarea
            autosize
            minRows={2}
            label={text.exporters}
            description={text.exportersText}
            {...getInputProps('exporters')}
          />
        </>
      )}
    </DeclaredForm>
  );
}

function draftOf({ listen, site, exporters }: DeclaredCollector) {
  return { listen, site: site ?? '', exporters: showExporters(exporters) };
}
