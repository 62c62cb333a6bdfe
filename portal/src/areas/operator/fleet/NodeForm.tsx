import { NumberInput, Textarea, TextInput } from '@mantine/core';
import type { DeclaredNode } from '@portcullis/client/index.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { DeclaredForm, type HostFormProps } from './DeclaredForm.tsx';
import { listOf } from './list-of.ts';
import { mountLines, mountsOf } from './mount-lines.ts';

const text = operatorMessages.fleet;

/** Changes what a node offers. */
export default function NodeForm({ name, onClose }: HostFormProps) {
  return (
    <DeclaredForm
      kind="node"
      name={name}
      onClose={onClose}
      read={(signal) => personClient.readNode({ name }, { signal })}
      draftOf={draftOf}
      lacks={() => false}
      change={(
        { memory, disk, addresses, ports, mounts, keepDays, sftpHost },
        { headers, ...call },
      ) => {
        const body = {
          memory: numberOf(memory),
          disk: numberOf(disk),
          addresses: listOf(addresses),
          ports: ports.trim() === '' ? null : ports.trim(),
          mounts: mountsOf(mounts),
          keep_days: Number(keepDays),
          sftp_host: sftpHost.trim() === '' ? null : sftpHost.trim(),
        };
        return personClient.changeNode({ ...call, body }, headers);
      }}
    >
      {({ getInputProps }) => (
        <div className="form-row">
          {(['memory', 'disk'] as const).map((field) => (
            <NumberInput
              key={field}
              className="field-s"
              label={text[field]}
              placeholder={text.memoryText}
              min={1}
              allowDecimal={false}
              hideControls
              {...getInputProps(field)}
            />
          ))}
          <TextInput
            className="field"
            label={text.addresses}
            placeholder={text.addressesText}
            {...getInputProps('addresses')}
          />
          <TextInput className="field" label={text.givenPorts} {...getInputProps('ports')} />
          <TextInput
            className="field"
            label={text.sftpHost}
            placeholder={text.sftpHostText}
            {...getInputProps('sftpHost')}
          />
          <NumberInput
            className="field-s"
            label={text.keepDays}
            min={-1}
            required
            max={3_650}
            allowDecimal={false}
            hideControls
            {...getInputProps('keepDays')}
          />
          <Textarea
            className="field"
            label={text.mounts}
            description={text.mountsText}
            autosize
            maxRows={10}
            {...getInputProps('mounts')}
          />
        </div>
      )}
    </DeclaredForm>
  );
}

function draftOf({
  memory,
  disk,
  addresses,
  ports,
  mounts,
  keep_days: keepDays,
  sftp_host: sftpHost,
}: DeclaredNode) {
  const shown = (number: number | null): number | string => number ?? '';
  return {
    memory: shown(memory),
    disk: shown(disk),
    addresses: addresses.join(', '),
    ports,
    mounts: mountLines(mounts),
    keepDays: shown(keepDays),
    sftpHost: sftpHost ?? '',
  };
}

function numberOf(typed: number | string): number | null {
  return typed === '' ? null : Number(typed);
}
