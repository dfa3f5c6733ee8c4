# Copies of an export what tells when things happened and what they are called, nothing else of the machine.
# usage: strip.py EXPORT.sqlite TO.sqlite
import sqlite3,sys,gzip,os,re,struct
src,dst=sys.argv[1:]
a=sqlite3.connect(src); q=a.execute
if os.path.exists(dst): os.remove(dst)
b=sqlite3.connect(dst); b.execute('pragma page_size=4096')
ids=set(); files=set()
def schema(t): return q("select sql from sqlite_master where type='table' and name=?",(t,)).fetchone()
def cols(t): return [r[1] for r in q(f'pragma table_info("{t}")')]
gpid=q('select distinct globalPid from CUPTI_ACTIVITY_KIND_KERNEL').fetchone()[0]
proc=gpid & ~0xffffff
def copy(t,where='1',fix=None):
    s=schema(t)
    if not s: return
    b.execute(s[0]); cs=cols(t); n=0
    rows=[]
    for r in q(f'select * from "{t}" where {where}'):
        d=dict(zip(cs,r))
        if fix and fix(d) is False: continue
        rows.append([d[c] for c in cs]); n+=1
        for c in cs:
            if c in STR and d[c] is not None: ids.add(d[c])
    b.executemany(f'insert into "{t}" values ({",".join("?"*len(cs))})',rows)
    if n: print(t,n,end=' ')
STR={'textId','demangledName','shortName','mangledName','nameId','symbol','module'}
mine=f'(globalTid & ~16777215) = {proc}'
def nvtx(d):
    p=d.get('binaryData')
    if p and len(p)>=48:
        n=struct.unpack_from('<I',p,44)[0]
        for i in range(n):
            f,g,_=struct.unpack_from('<QQQ',p,48+24*i); ids.add(f); ids.add(g); files.add(g)
copy('NVTX_EVENTS',mine,nvtx)
for t in ('CUPTI_ACTIVITY_KIND_RUNTIME','SCHED_EVENTS','OSRT_API'): copy(t,mine)
for t in ('CUPTI_ACTIVITY_KIND_MEMCPY','CUPTI_ACTIVITY_KIND_KERNEL','CUPTI_ACTIVITY_KIND_SYNCHRONIZATION'): copy(t)
copy('PROFILER_OVERHEAD')
if schema('COMPOSITE_EVENTS'): copy('COMPOSITE_EVENTS',mine); copy('SAMPLING_CALLCHAINS',f'id in (select id from COMPOSITE_EVENTS where {mine})')
mods=set(r[0] for r in q('select distinct module from SAMPLING_CALLCHAINS')) if schema('SAMPLING_CALLCHAINS') else set()
copy('DIAGNOSTIC_EVENT',"text not like '%/%' or text like '%CUPTI library%'",lambda d: d.update(text=re.sub(r'/\S*/','',d['text']), globalPid=d['globalPid']))
copy('META_DATA_CAPTURE',"name like 'OS_RUNTIME_OPTIONS%' or name like 'LINUX_PERF_OPTIONS%' or name like 'CAPTURE_EVENT_TYPE' or name like 'CUDA%' or name in ('CPU_SAMPLING','SCHEDULE_TRACE')", lambda d: '/' not in str(d['value']))
copy('META_DATA_EXPORT',None or "name like '%VERSION%'")
for t in ('TARGET_INFO_SESSION_START_TIME','ANALYSIS_DETAILS'): copy(t)
copy('PROCESSES',f'globalPid={gpid}',lambda d: d.update(name='python3'))
copy('TARGET_INFO_GPU','1',lambda d: d.update({k:None for k in d if k in('busLocation','uuid','chipName_','pwGpuId')}))
b.execute(schema('StringIds')[0])
for i,v in q('select id,value from StringIds'):
    if i in ids:
        if i in files or i in mods: v=v.rsplit('/',1)[-1]
        b.execute('insert into StringIds values (?,?)',(i,v))
b.commit(); b.execute('vacuum'); b.close()
raw=open(dst,'rb').read(); z=gzip.compress(raw,9,mtime=0); open(dst+'.gz','wb').write(z)
