package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/s3source/hook"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

func newS3ValidateCommand(std stdio) *cobra.Command {
	var policyFile, project string
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR...",
		Short: "Check trigger files, and whether a policy allows them",
		Long: `Check trigger files without reading from S3: unknown fields, wrong types, duplicate keys, paths and patterns.
All problems are reported together, with line and column. With --policy and --project, the policy is checked, too.`,
		Example: `  argosy s3 validate apps/*/` + triggerfile.Name + `
  argosy s3 validate --policy policy.yaml --project team-a apps/demo`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("a file or a directory is needed")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runS3Validate(std, policyFile, project, args) },
	}
	cmd.Flags().StringVar(&policyFile, "policy", "", "`FILE` that says what projects may read")
	cmd.Flags().StringVar(&project, "project", "", "Argo CD project of the applications; needed with --policy")
	return cmd
}

func runS3Validate(std stdio, policyFile, project string, args []string) error {
	if (policyFile == "") != (project == "") {
		return usagef("--policy and --project require each other")
	}
	p, err := option.ReadPolicy(policyFile)
	if err != nil {
		return err
	}
	return hook.ValidateAll(std.Out, args, p, project)
}
