// A batch in shards, as processes of Nextflow, and all of it on one page in the end:
//
//     nextflow run lobule.nf --recipe liver.recipe --manifest scans.tsv --shards 8
//
// Paths of the manifest begin in the folder in which nextflow is started, which all nodes have to see.

params.recipe = null
params.manifest = null
params.shards = 8
params.log = "${params.manifest}".replaceAll(/\.[^.\/]*$/, '') + '.batch'
params.options = ''

process SHARD {
    cpus 4
    memory '8 GB'
    // Exit code 75: a device was busy, or memory short, for a while. --resume keeps what is done.
    errorStrategy { task.exitStatus == 75 ? 'retry' : 'terminate' }
    maxRetries 5

    input:
    val shard

    output:
    val shard

    // Scans that failed stand in the shard's table, and end nothing. A shard that is killed leaves no summary.
    script:
    """
    cd '${workflow.launchDir}'
    code=0
    summary='${params.log}/shard-${shard}-of-${params.shards}/summary.json'
    rm -f "\$summary"
    lobule batch '${params.recipe}' '${params.manifest}' --log '${params.log}' --shard ${shard}/${params.shards} \\
        --resume --quiet --threads ${task.cpus} --max-memory ${task.memory.toMega() * 9 / 10 as int}MiB \\
        ${params.options} || code=\$?
    if [ \$code -ne 75 ] && [ -e "\$summary" ]; then exit 0; fi
    exit \$code
    """
}

process PAGE {
    input:
    val shards

    // Exit code 75 says that scans are left; those that failed stand on the page.
    script:
    """
    cd '${workflow.launchDir}'
    code=0
    rm -f '${params.log}/page.html'
    lobule batch --merge '${params.log}' || code=\$?
    [ \$code -ne 75 ] && [ -e '${params.log}/page.html' ]
    """
}

workflow {
    PAGE(SHARD(Channel.of(1..params.shards)).collect())
}
