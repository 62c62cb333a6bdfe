import { Argument, type Command } from 'commander';
import { print } from '../output.ts';

/** A command with what may follow it. */
interface Known {
  /** `edges list`; '' for the program. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly options: readonly string[];
}

const SHELLS = { bash, zsh, fish } as const;

/** `completion SHELL`: made from the commands as they are, so that it never names another. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
  source <(portcullis completion bash)                              this shell
  portcullis completion bash >/etc/bash_completion.d/portcullis     every shell
  portcullis completion zsh >"\${fpath[1]}/_portcullis"
  portcullis completion fish >~/.config/fish/completions/portcullis.fish`,
    )
    .action((shell: keyof typeof SHELLS) => print(SHELLS[shell](describeCommands(program, ''))));
}

function describeCommands(command: Command, path: string): Known[] {
  const visible = command.createHelp().visibleCommands(command);
  const known = {
    path,
    commands: visible.map((one) => one.name()),
    options: command
      .createHelp()
      .visibleOptions(command)
      .flatMap(({ long }) => (long === undefined || long === null ? [] : [long])),
  };
  const below = visible.filter((one) => one.name() !== 'help');
  return [known, ...below.flatMap((one) => describeCommands(one, `${path} ${one.name()}`.trim()))];
}

/** Words that are no option say which command it is; files complete where a command takes no other word. */
function bash(known: readonly Known[]): string {
  const cases = known.map(
    ({ path, commands, options }) =>
      `    '${path}') words='${[...commands, ...options].join(' ')}' ;;`,
  );
  return `_portcullis() {
  local word path='' words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      -*) ;;
      *) case " ${known.map(({ path }) => path.replaceAll(' ', '/')).join(' ')} " in
           *" \${path:+$path/}$word "*) path="\${path:+$path/}$word" ;;
         esac ;;
    esac
  done
  case "\${path//\\// }" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _portcullis portcullis ./portcullis`;
}

/** Zsh runs completions of bash. */
function zsh(known: readonly Known[]): string {
  return `#compdef portcullis
autoload -U +X bashcompinit && bashcompinit
${bash(known)}`;
}

function fish(known: readonly Known[]): string {
  const lines = known.flatMap(({ path, commands, options }) => {
    const parts = path.split(' ').filter(Boolean);
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`);
    const first = commands.filter((name) => name !== 'help').join(' ');
    const open = first === '' ? [] : [`not __fish_seen_subcommand_from ${first}`];
    const when = [...seen, ...open].join('; and ');
    const condition = when === '' ? '' : ` -n '${when}'`;
    return [
      ...(commands.length === 0
        ? []
        : [`complete -c portcullis${condition} -f -a '${commands.join(' ')}'`]),
      ...options.map((option) => `complete -c portcullis${condition} -l ${option.slice(2)}`),
    ];
  });
  return lines.join('\n');
}
